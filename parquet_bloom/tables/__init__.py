"""Tables of a lake: which files are live, what their columns are called, and how to tell a table the
new sizes of files to which something was appended."""
