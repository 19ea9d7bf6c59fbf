"""Records as tables of other libraries."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from smmux import ConfigError
from smmux.sweep import product, sweep

RECORDS = sweep(lambda n, kind: {"value": n * len(kind)}, product(n=(1, 2, 3), kind=("a", "bb")), jobs=1)


def test_a_table_has_a_row_for_each_record() -> None:
    table = RECORDS.to_pandas()
    assert table.to_dict("records") == RECORDS
    assert "<table" in RECORDS._repr_html_()


def test_arrays_are_over_the_axes() -> None:
    arrays = RECORDS.to_xarray("n", "kind")
    assert arrays["value"].sel(n=3, kind="bb").item() == 6
    assert arrays["value"].dims == ("n", "kind")


def test_parquet_holds_the_same_records(tmp_path: Path) -> None:
    RECORDS.to_parquet(tmp_path / "r.parquet")
    assert pd.read_parquet(tmp_path / "r.parquet").to_dict("records") == RECORDS


def test_axes_that_name_no_place_are_told() -> None:
    with pytest.raises(ConfigError, match=r"not \['m'\]; they have"):
        RECORDS.to_xarray("n", "m")
    with pytest.raises(ConfigError, match="several records have the same n"):
        RECORDS.to_xarray("n")
    with pytest.raises(ConfigError, match="needs columns"):
        RECORDS.to_xarray()
