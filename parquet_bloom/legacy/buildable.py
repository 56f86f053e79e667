"""Which files get filters of older dialects, and with which options."""

from __future__ import annotations

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.options import BuildOptions, refuse
from parquet_bloom.parquet.edit.change import check_rewritable
from parquet_bloom.parquet.open_file import OpenFile

_NOT_SUPPORTED = (
    "append_in_place",
    "drop_foreign_fields",
    "fpp_of",
    "kept_ends",
    "exact_blocks",
    "expose_filter_location",
    "force",
    "layout",
    "orc_streams",
)


def check_buildable(file: OpenFile, options: BuildOptions, what: str) -> None:
    """Raise UnsupportedError for options that these filters, `what`, do not have, and for an encrypted file: filters
    in its footer would reveal values; else as check_rewritable and Footer.check_row_counts."""
    refuse(file.path, options, _NOT_SUPPORTED, what)
    if file.is_encrypted:
        raise UnsupportedError(
            f"{file.path}: is encrypted: legacy filters are only written to unencrypted files"
        )
    check_rewritable(file)
    file.footer.check_row_counts()
