"""Whether ConflictScore follows people: the score beside their judgements of the same answers."""
