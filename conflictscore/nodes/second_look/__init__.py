"""A second look at a disputed claim: rivals, the documents' vote, and what weighs the rest."""
