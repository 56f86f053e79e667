"""Delta Lake: its log, read and written field by field.

Spec: https://github.com/delta-io/delta/blob/master/PROTOCOL.md
"""
