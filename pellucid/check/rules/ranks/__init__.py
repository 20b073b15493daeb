"""The rules D001 to D020, which compare what several ranks did."""
