"""Files of answers and documents, scored row by row into files of the same rows with their scores.

A run is streaming and can be stopped at any instant: the rows of the input, in their order, are
added to a file of lines one by one, a row that ends before its turn waits in a small database
beside it, and the same command resumes where it was.
"""
