"""The papers' tables, made of the lines that an evaluation wrote. Nobody reads or rates here."""
