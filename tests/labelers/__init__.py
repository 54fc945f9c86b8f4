"""Tests of the judges and of the table that they fill."""
