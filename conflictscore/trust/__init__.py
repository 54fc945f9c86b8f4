"""How far the documents of a question are trusted; a run that is told nothing weighs them alike."""
