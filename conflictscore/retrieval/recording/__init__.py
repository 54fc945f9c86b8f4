"""Search results kept in a file: what was found for each question, to be found again offline.

``format`` says what a line of the file holds, ``results`` how documents get into it and out of it,
``reader`` and ``writer`` how the file is read and appended to, ``questions`` what is asked, and
``recorder`` asks it.
"""
