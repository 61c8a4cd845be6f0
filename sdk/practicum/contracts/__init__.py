"""The words of the house: frozen values that every process shares."""
