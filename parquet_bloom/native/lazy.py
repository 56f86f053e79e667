"""numpy, imported when it is first used.

To import it takes longer than to build, ask or repair most files. What mostly works without it takes `np`
from here; whoever has an array to begin with imports numpy as usual.
"""

from typing import TYPE_CHECKING, Any, TypeAlias

__all__ = ["Array", "NDArray", "np"]

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:

    class _Numpy:
        def __getattr__(self, name):
            import numpy

            # Found without this method from now on.
            self.__dict__[name] = found = getattr(numpy, name)
            return found

    np = _Numpy()
    # Stands in annotations alone, which nobody evaluates.
    NDArray = object

# An array of anything.
Array: TypeAlias = "NDArray[Any]"
