"""The rules, one file per family; every file in this folder is loaded when rules are asked for."""
