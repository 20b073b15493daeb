"""The rules, a folder for each family; every file in them is loaded when rules are asked for."""
