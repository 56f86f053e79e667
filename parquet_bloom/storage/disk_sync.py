"""Files that are synced to disk. On macOS, fsync leaves what was written in the disk's own cache, which may lose
it when power fails, and only F_FULLFSYNC has it written.

Source: Apple's man 2 fsync and fcntl.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys

if sys.platform == "darwin":

    def sync_file(descriptor: int) -> None:
        """Sync a file, or a folder. Raises OSError."""
        try:
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
        except OSError as error:
            # Network file systems, which do with fsync what they can.
            if error.errno not in (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY):
                raise
            os.fsync(descriptor)

    sync_data = sync_file
else:

    def sync_file(descriptor: int) -> None:
        """Sync a file, or a folder. Raises OSError."""
        os.fsync(descriptor)

    def sync_data(descriptor: int) -> None:
        """Sync what was written to a file, but not all that is known of it. Raises OSError."""
        os.fdatasync(descriptor)
