"""The errors of parquet_bloom.

    ParquetBloomError
    ├── FormatError                 the bytes violate the file format
    │   ├── NotSupportedFileError   not a Parquet or ORC file
    │   ├── FooterError             the footer is damaged, truncated or contradicts the file
    │   ├── PageError               a page of a column chunk is damaged
    │   └── FilterError             a Bloom filter's header, range or bits are unusable
    ├── UnsupportedError            valid, but not supported: a codec, an encoding, an encryption
    ├── ColumnError                 no such column (suggests similar names)
    ├── ValueTypeError              a literal that cannot be a value of the column
    ├── EncryptionError             an invalid key, or a KMS that failed
    │   ├── MissingKeyError         no key for the footer or a column, or no AAD prefix
    │   └── TamperedError           decryption failed: wrong key, wrong AAD prefix or altered bytes
    ├── RewriteError                an output that must not or could not be written
    ├── ConfigError                 an invalid configuration file
    └── SparkError                  a Spark job that failed as a whole

A message is one line, *where: what: expected, found*. `OSError` passes through unchanged.
"""


class ParquetBloomError(Exception):
    """The base class of all errors of this package."""


class FormatError(ParquetBloomError):
    """The bytes violate the file format."""


class NotSupportedFileError(FormatError):
    """Not a Parquet or ORC file: the magic bytes are missing, or it is too short."""


class FooterError(FormatError):
    """The footer is damaged, truncated or contradicts the file."""


class PageError(FormatError):
    """A page of a column chunk is damaged."""


class FilterError(FormatError):
    """A Bloom filter's header, range or bits are unusable."""


class UnsupportedError(ParquetBloomError):
    """Valid, but not supported: a codec, an encoding, an encryption."""


class ColumnError(ParquetBloomError):
    """No such column."""


class ValueTypeError(ParquetBloomError):
    """A literal that cannot be a value of the column."""


class EncryptionError(ParquetBloomError):
    """An invalid key, or a KMS that failed."""


class MissingKeyError(EncryptionError):
    """No key for the footer or a column, or no AAD prefix."""


class TamperedError(EncryptionError):
    """Decryption failed: the key or the AAD prefix is wrong, or the bytes were altered."""


class RewriteError(ParquetBloomError):
    """An output that must not or could not be written."""


class ConfigError(ParquetBloomError):
    """An invalid configuration file."""


class SparkError(ParquetBloomError):
    """A Spark job failed as a whole, rather than on single files."""


def complaint(error: BaseException) -> str:
    """The error message for the user of the command."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ParquetBloomError | ValueError | OSError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory"
    return f"internal error, please report: {type(error).__name__}: {error}"


def complaint_about(path: str, error: Exception) -> str:
    """The same for one file of many; adds the path if the error does not name it."""
    message = complaint(error)
    names_a_file = isinstance(error, ParquetBloomError) or getattr(error, "filename", None)
    return message if names_a_file or path in message else f"{path}: {message}"
