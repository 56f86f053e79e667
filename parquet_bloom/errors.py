"""Everything that parquet_bloom raises on purpose.

    ParquetBloomError
    ├── FormatError                 bytes that are not what the format says
    │   ├── NotSupportedFileError   no Parquet file at all
    │   ├── FooterError             the footer is damaged, truncated or contradicts the file
    │   ├── PageError               a page of a column chunk is damaged
    │   └── FilterError             a Bloom filter's header, range or bits cannot be used
    ├── UnsupportedError            sound, but beyond this version: a codec, an encoding, another encryption
    ├── ColumnError                 no such column (names the close ones)
    ├── ValueTypeError              a literal that cannot be a value of the column
    ├── EncryptionError             keys that are missing or unfit, bytes that they do not open
    │   ├── MissingKeyError         no key for the footer or a column, no AAD prefix
    │   └── TamperedError           key, AAD prefix or bytes are wrong; nothing tells which
    ├── RewriteError                an output that must not or could not be written
    ├── ConfigError                 a configuration file that says what has no meaning
    └── SparkError                  a job on Spark that failed as a whole

A message is one line, *where: what: expected, found*. `OSError` passes through unchanged.
"""


class ParquetBloomError(Exception):
    """The root of the tree."""


class FormatError(ParquetBloomError):
    """Bytes that are not what the format says."""


class NotSupportedFileError(FormatError):
    """No Parquet file: the magic bytes are missing, or it is too short."""


class FooterError(FormatError):
    """The footer is damaged, truncated or contradicts the file."""


class PageError(FormatError):
    """A page of a column chunk is damaged."""


class FilterError(FormatError):
    """A Bloom filter's header, range or bits cannot be used."""


class UnsupportedError(ParquetBloomError):
    """Sound, but beyond this version: a codec, an encoding, another encryption."""


class ColumnError(ParquetBloomError):
    """No such column."""


class ValueTypeError(ParquetBloomError):
    """A literal that cannot be a value of the column."""


class EncryptionError(ParquetBloomError):
    """A key that is unfit, or a KMS that fails."""


class MissingKeyError(EncryptionError):
    """No key for the footer or a column, or no AAD prefix."""


class TamperedError(EncryptionError):
    """Bytes that do not open: the key, the AAD prefix or the bytes are wrong."""


class RewriteError(ParquetBloomError):
    """An output that must not or could not be written."""


class ConfigError(ParquetBloomError):
    """A configuration file that says what has no meaning."""


class SparkError(ParquetBloomError):
    """A job on Spark failed as a whole, not one file of it."""


def complaint(error: BaseException) -> str:
    """What went wrong, for the one who ran the command."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ParquetBloomError | ValueError | OSError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory"
    return f"internal error, please report: {type(error).__name__}: {error}"


def complaint_about(path: str, error: Exception) -> str:
    """The same for one file among many, which it names if the error does not."""
    message = complaint(error)
    names_a_file = isinstance(error, ParquetBloomError) or getattr(error, "filename", None)
    return message if names_a_file or path in message else f"{path}: {message}"
