"""Records: what a sweep returns, a list of flat dictionaries that becomes a table on request."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from smmux.base.whole_files import replacing
from smmux.errors import ConfigError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["Record", "Records"]

Record = dict[str, Any]


class Records(list[Record]):
    """Records in the order of their points; equal to a list of the same dictionaries."""

    def to_pandas(self) -> pd.DataFrame:
        """The records as a table, a row each (needs pandas)."""
        import pandas as pd

        return pd.DataFrame(list(self))

    def to_xarray(self, *axes: str) -> xr.Dataset:
        """The records as arrays over some of their columns, missing points as NaN (needs xarray).

        Raises ConfigError where a column is missing, or two records have the same place.
        """
        table = self.to_pandas()
        if missing := [axis for axis in axes if axis not in table] or ([] if axes else ["axes"]):
            raise ConfigError(f"to_xarray needs columns of the records as axes, not {missing}; they have {list(table)}")
        if table.duplicated(list(axes)).any():
            raise ConfigError(f"several records have the same {', '.join(axes)}; name more axes")
        arrays: xr.Dataset = table.set_index(list(axes)).to_xarray()
        return arrays

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write the records into a Parquet file (needs pandas and pyarrow)."""
        with replacing(path) as (draft,):
            self.to_pandas().to_parquet(draft, index=False)

    def _repr_html_(self) -> str:
        """The records as a table, in a notebook that has pandas."""
        try:
            return str(self.to_pandas()._repr_html_())
        except ImportError:
            return f"<pre>{len(self)} records</pre>"
