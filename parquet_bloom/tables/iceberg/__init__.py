"""Iceberg tables, through PyIceberg: the manifests of a snapshot, and a commit that writes those anew in
which sizes change.

Spec: Iceberg Table Spec, version 2.
"""
