"""Search results kept in a file: what was found for each question, to be found again offline.

``format`` says what a line of the file holds and how documents get into it and out of it, ``file``
how it is read and appended to, ``questions`` what is asked; ``recorder`` asks, ``replay`` answers.
"""
