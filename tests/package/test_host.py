"""The host's side of numba.cuda: arrays, streams, events, devices, and what a kernel tells about itself."""

import asyncio
import copy
import enum
import math
import pickle
import traceback
from types import SimpleNamespace

import numpy as np
import pytest

import smmux
from smmux import ConfigError, LaunchError, cuda, gpus, int32, types
from smmux.running.device import ATTRIBUTES


@cuda.jit
def add(a, n, m=10):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += n + m


def test_device_arrays_keep_their_order():
    f = np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3))
    swapped = np.zeros((2, 3, 4), np.int32).transpose(1, 0, 2)
    for like in (cuda.device_array_like, cuda.pinned_array_like, cuda.mapped_array_like):
        assert like(f).strides == f.strides
        assert like(swapped).strides == np.zeros_like(swapped).strides
    assert cuda.to_device(f).flags.f_contiguous
    assert cuda.device_array((2, 3), np.int32, order="F").flags.f_contiguous
    assert cuda.device_array((2, 3), np.int32, strides=(4, 8)).strides == (4, 8)
    assert cuda.managed_array(3).dtype == np.float64


def test_device_arrays_in_conditions_and_functions():
    d = cuda.to_device(np.arange(4, dtype=np.int32))
    assert d[1] == 1
    assert d[0] < 1 < len(d)
    assert type(d.sum()) is np.int64
    assert type(d.max()) is np.int32
    assert type(d + 1) is np.ndarray
    assert type(np.sqrt(d)) is np.ndarray
    assert isinstance(d[1:], cuda.DeviceNDArray)
    assert (d[1:] == [1, 2, 3]).all()
    if d[3] > 2 and d.any():
        add[1, 32](d[2:], 1)
    assert d.tolist() == [0, 1, 13, 14]
    assert [part.tolist() for part in d.split(3)] == [[0, 1, 13], [14]]
    assert (d.alloc_size, d.is_c_contiguous(), d.is_f_contiguous()) == (16, True, True)


def test_copies_want_equal_shapes_and_types():
    d = cuda.to_device(np.arange(4, dtype=np.int32))
    host = np.zeros(4, np.int32)
    assert d.copy_to_host(host, stream=cuda.stream()) is host
    assert host.tolist() == [0, 1, 2, 3]
    assert cuda.to_device(host + 1, to=d) is d
    assert type(d.copy_to_host()) is np.ndarray
    with pytest.raises(ValueError, match="incompatible shape"):
        d.copy_to_host(np.zeros(5, np.int32))
    with pytest.raises(TypeError, match="incompatible dtype"):
        d.copy_to_device(np.zeros(4, np.float32))


def test_memory_of_the_host():
    a, b = np.zeros(4, np.int32), np.zeros(4, np.int32)
    with cuda.pinned(a, b), cuda.mapped(a) as device:
        add[1, 4](device, 1)
    assert a.tolist() == [11] * 4
    with cuda.mapped(a, b) as (first, second):
        assert np.shares_memory(first, a)
        assert np.shares_memory(second, b)
    assert cuda.is_cuda_array(cuda.as_cuda_array(a))
    assert not cuda.is_cuda_array(a)


def test_arrays_of_other_libraries():
    class Lent:
        def __init__(self, array):
            self.__cuda_array_interface__ = cuda.as_cuda_array(array).__cuda_array_interface__

    a = np.zeros((4, 3), np.int32)
    for part in (a, a[::2, 1]):
        assert np.shares_memory(cuda.as_cuda_array(Lent(part)), a)
        assert cuda.as_cuda_array(Lent(part)).strides == part.strides
    add[1, 4](cuda.as_cuda_array(Lent(a[:, 0])), 1)
    add[1, 4](Lent(a[:, 0]), 1)
    assert a.sum() == 88
    assert cuda.is_cuda_array(Lent(a))
    described = cuda.from_cuda_array_interface(Lent(a[1]).__cuda_array_interface__)
    assert np.shares_memory(described, a)
    assert add[2, (3, 4)].griddim + add[2, (3, 4)].blockdim == (2, 1, 1, 3, 4, 1)
    assert isinstance(cuda.to_device(a), cuda.cudadrv.devicearray.DeviceNDArray)
    assert issubclass(cuda.CudaSupportError, Exception)


def test_functions_that_numba_compiles_for_the_host():
    numba = pytest.importorskip("numba")

    @numba.njit
    def twice(x):
        return 2 * x

    module = SimpleNamespace(twice=twice)

    @cuda.jit
    def kernel(a):
        a[0] = twice(a[0]) + module.twice(1)

    a = np.ones(1, np.int32)
    kernel[1, 1](a)
    assert a[0] == 4


def test_types_that_are_numbas():
    """Files may change the import of cuda alone."""
    numba = pytest.importorskip("numba")
    from numba import float32, void

    @cuda.jit(void(float32[:, ::1], numba.types.UniTuple(numba.int32, 2)))
    def kernel(a, pair):
        tile = cuda.shared.array((2, 3), float32)
        local = cuda.local.array(2, dtype=numba.float64)
        local[1] = numba.int32(2.75)
        tile[0, 0] = float32(local[1])
        a[pair[0], pair[1]] = tile[0, 0] + numba.float32(0.5)

    a = np.zeros((2, 3), np.float32)
    kernel[1, 1](a, (1, 2))
    assert a[1, 2] == 2.5
    with pytest.raises(smmux.CompileError, match="declared as float32"):
        kernel[1, 1](a.T, (1, 2))


def test_records_on_the_device():
    @cuda.jit
    def kernel(record, records):
        record.x = 5
        records[1].y = 6

    records = np.zeros(3, smmux.from_dtype([("x", "f4"), ("y", "i4")]).dtype)
    record = cuda.to_device(records[2])
    kernel[1, 1](record, records)
    assert record.copy_to_host()["x"] == 5
    assert records["y"].tolist() == [0, 6, 0]
    declared = cuda.jit((smmux.from_dtype(records.dtype), smmux.from_dtype(records.dtype)[:]))(kernel.py_func)
    declared[1, 1](records[0], records)
    assert records["x"].tolist() == [5, 0, 0]


def test_enumerations():
    class Color(enum.Enum):
        RED = 3

    @cuda.jit
    def kernel(a, color):
        a[0] = color + (color == Color.RED)

    a = np.zeros(1, np.int32)
    kernel[1, 1](a, Color.RED)
    assert a[0] == 4


def test_directions_of_copies():
    a, b, c = (np.zeros(4, np.int32) for _ in range(3))
    for argument in (cuda.In(a), cuda.Out(b), cuda.InOut(c)):
        add[1, 4](argument, 1)
    assert (a[0], b[0], c[0]) == (0, 11, 11)


def test_streams():
    stream, called = cuda.stream(), []
    with stream.auto_synchronize() as same:
        add[1, 4, same](np.zeros(4, np.int32), 1)
    stream.add_callback(lambda *words: called.append(words), "word")
    assert called == [(stream, 0, "word")]
    for made in (cuda.default_stream(), cuda.per_thread_default_stream(), cuda.external_stream(5)):
        made.synchronize()

    async def wait():
        await stream.async_done()

    asyncio.run(wait())


def test_events_read_simulated_time():
    start, end = cuda.event(), cuda.event(timing=True)
    start.record()
    add[1, 4](np.zeros(4, np.int32), 1)
    result = add.simulate(1, 4, (np.zeros(4, np.int32), 1))
    end.record(cuda.default_stream())
    end.synchronize()
    assert start.elapsed_time(end) == pytest.approx(2 * result.time_us / 1000)
    assert cuda.event_elapsed_time(start, end) == start.elapsed_time(end)
    with pytest.raises(smmux.Error, match="once it is recorded"):
        cuda.event().elapsed_time(end)


def test_the_device_is_the_current_machine(capsys):
    with gpus.set_current("K20c"):
        device = cuda.get_current_device()
        assert device.compute_capability == (3, 5)
        assert device.name == "K20c"
        assert device.MULTIPROCESSOR_COUNT == 13
        assert all(getattr(device, name) >= 0 for name in ATTRIBUTES)
        assert cuda.detect()
    assert "K20c" in capsys.readouterr().out
    assert cuda.select_device(0).id == cuda.current_context().device.id == 0
    cuda.current_context().deallocations.clear()
    assert len(cuda.gpus) == len(cuda.list_devices()) == 1
    with cuda.gpus[0] as context:
        assert context.get_memory_info().free > 1 << 30
    with pytest.raises(ConfigError, match="there is one device"):
        cuda.select_device(1)
    with pytest.raises(AttributeError, match="no attribute 'NOTHING'"):
        _ = device.NOTHING


def test_launches_for_so_many_tasks():
    a = np.zeros(4, np.int32)
    add.forall(4)(a, 1)
    add.forall(0)(a, 1)
    assert a.tolist() == [11] * 4
    with pytest.raises(ConfigError, match="fewer than none"):
        add.forall(-1)


def test_sizes_that_other_machines_take():
    a = np.zeros(4, np.int32)
    for grid, block, cure in (
        (1, 1024, "it fits GTX480-16K, GTX480-48K, K20c: simulate(..., gpu='K20c'), or smmux.gpus.set_current('K20c')"),
        ((1, 1, 2), 1, "have two dimensions; it fits GTX480-16K, GTX480-48K, K20c:"),
        (70000, 1, "allows 65535; it fits K20c:"),
        (1, 2048, "GTX285 allows 512; no machine takes it, blocks have at most 1024 threads along x"),
        (1, (64, 32), "GTX285 allows 512; no machine takes it, blocks have at most 1024 threads"),
        (1, (1, 1, 65), "no machine takes it, blocks have at most 64 threads along z"),
        ((1, 65536), 1, "no machine takes it, grids have at most 65535 blocks along y"),
        (2**31, 1, "no machine takes it, grids have at most 2147483647 blocks along x"),
        (a.size / 2, 1, "not 2.0; write // for /, or int(...)"),
    ):
        with pytest.raises(LaunchError) as caught:
            add[grid, block](a, 1)
        assert cure in caught.value.message
    with pytest.raises(ConfigError, match="dynshared must be an integer"):
        add[1, 1, 0, 1.5](a, 1)
    with pytest.raises(TypeError, match="tuple of add's arguments"):
        add.simulate(1, 1, a, 1)


def test_arguments_by_name():
    a = np.zeros(4, np.int32)
    add[1, 4](a, m=1, n=2)
    assert a.tolist() == [3] * 4
    for named, message in (
        ({"k": 1}, "no parameter 'k'"),
        ({"a": a}, "its argument 'a' twice"),
        ({"m": 1}, "called without its argument 'n'"),
    ):
        with pytest.raises(LaunchError, match=message):
            add[1, 4](a, **named)


def test_kernels_call_kernels():
    @cuda.jit
    def twice(a, n):
        add(a, n)
        add(a, n, 0)

    a = np.zeros(4, np.int32)
    twice[1, 4](a, 5)
    assert a.tolist() == [20] * 4


def test_what_a_kernel_tells():
    @cuda.jit
    def store(a):
        tile = cuda.shared.array(8, int32)
        tile[cuda.threadIdx.x] = a[0]
        cuda.syncthreads()
        a[0] = tile[1]

    assert add.py_func.__name__ == "add"
    assert store.signatures == []
    store.specialize(np.zeros(8, np.int32))
    types = (int32[::1],)
    assert store.signatures == [types]
    assert store.overloads[types].shared_mem_per_block == 32
    assert store.get_shared_mem_per_block(types) == 32
    assert store.get_regs_per_thread() == {types: store.overloads[types].regs_per_thread}
    assert store.get_local_mem_per_thread(types) == store.get_const_mem_size(types) == 0
    assert store.get_max_threads_per_block(types) == 512
    assert "st.shared" in store.inspect_asm(types)
    assert store.overloads[types].max_cooperative_grid_blocks(8) == 30 * 8


def test_types_of_programs_are_those_of_numba():
    with gpus.set_current("K20c"):
        add.specialize(np.zeros((4, 3), np.int32, order="F")[:, 0], 1, np.float32(2))
        add.specialize(np.zeros((4, 3), np.int32)[:, 0], 1, 2.5)
    assert {(int32[::1], types.int64, types.float32), (int32[:], types.int64, types.float64)} <= set(add.signatures)


def test_declared_types_need_no_launch():
    declared = cuda.jit("void(int32[::1], int64, int64)")(add.py_func)
    assert declared.get_regs_per_thread() == declared.overloads[int32[::1], types.int64, types.int64].regs_per_thread
    assert declared.overloads[types.void(int32[::1], types.int64, types.int64)].max_cooperative_grid_blocks(32) == 240
    with pytest.raises(KeyError):
        _ = declared.overloads[(int32,)]
    assert pickle.loads(pickle.dumps(add)).signatures == add.signatures
    assert copy.copy(declared).definition is declared.definition


def frames(function):
    with pytest.raises(smmux.Error) as caught:
        function()
    return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]


def test_tracebacks_end_at_the_users_call(monkeypatch):
    @cuda.jit
    def wrong(a):
        a[0] = unknown  # noqa: F821

    a = np.zeros(4, np.int32)
    for function in (
        lambda: wrong[1, 32](a),
        lambda: wrong.simulate(1, 32, (a,)),
        lambda: wrong.compile((a,)),
        lambda: wrong.ir(a),
        lambda: add[1, 32](cuda.as_cuda_array(a)[:0].reshape(0, 1), 1),
        lambda: add[1, 1024](a, 1),
        lambda: add[1](a, 1),
        lambda: cuda.jit(lambda: 0, nothing=1),
        lambda: cuda.jit("void(int8[:])")(add.py_func),
    ):
        assert frames(function) == ["frames", "<lambda>"], function
    monkeypatch.setenv("SMMUX_TRACEBACK", "full")
    assert len(frames(lambda: wrong[1, 32](a))) > 10


def test_names_that_do_not_exist():
    with pytest.raises(AttributeError, match="no attribute 'syncthread'; did you mean 'syncthreads'"):
        _ = cuda.syncthread
    for line, message in (
        ("from smmux.cuda import gird", "no attribute 'gird'; did you mean 'grid'"),
        ("from smmux import flot32", "did you mean 'float32'"),
        ("from smmux import njit", "no part of kernels: from numba import njit"),
    ):
        with pytest.raises(ImportError, match=message):
            exec(line)
    assert not hasattr(cuda, "gird")
    assert getattr(smmux, "njit", None) is None
    with pytest.raises(AttributeError, match="'declare_device'; write a @cuda.jit"):
        _ = cuda.declare_device


LIKE = (cuda.device_array_like, cuda.pinned_array_like, cuda.mapped_array_like)


@pytest.mark.parametrize("like", LIKE)
def test_arrays_like_views_have_numbas_strides(like):
    whole = np.zeros((10, 12, 3))
    for view in (
        whole[::2, ::2],
        whole[:, :, 1],
        whole.transpose(1, 0, 2),
        whole[::2].transpose(2, 0, 1),
        whole[:, :, 1].T,
    ):
        assert like(view).strides == np.zeros_like(view).strides
    assert like(whole[::-1, ::2]).strides == (8, 240, 80)  # a negative stride is the smallest
    transposed = cuda.device_array((10, 12))[::2, ::2].T  # which is a new array in Numba
    assert like(transposed).strides == like(transposed[:]).strides == (40, 8)
    assert like(cuda.device_array((10, 12), order="F")[::2, ::2]).strides == (8, 40)
    assert like(cuda.device_array((4, 5), order="F")).strides == (8, 32)


def test_an_array_with_elements_is_true():
    assert cuda.to_device(np.zeros(3))
    assert not cuda.to_device(np.zeros(0))
    assert cuda.to_device(np.zeros((1, 2)))
    assert not cuda.to_device(np.array(0.0))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(cuda.to_device(np.ones(3)) == 1)


def test_a_transposed_device_array_is_a_view():
    d = cuda.to_device(np.arange(6, dtype=np.int32).reshape(2, 3))
    d.T[2, 1] = 9
    assert d[1, 2] == 9
    assert d.transpose(1, 0).shape == d.T.shape == (3, 2)


def test_programs_by_types_of_numbas():
    numba = pytest.importorskip("numba")
    kernel = cuda.jit((numba.float64[:], numba.boolean))(_first)
    kernel[1, 1](np.zeros(3), True)
    assert kernel.get_regs_per_thread((numba.float64[:], numba.boolean)) == kernel.get_regs_per_thread()


def _first(a, b):
    a[0] = b


def test_programs_for_types_alone():
    with gpus.set_current("K20c"):
        add.specialize(types.int16[::1], types.int64, types.float64)
    assert (types.int16[::1], types.int64, types.float64) in add.signatures


def test_facts_are_known_by_the_types_of_numba():
    numba = pytest.importorskip("numba")

    @cuda.jit
    def sine(x, n):
        i = cuda.grid(1)
        if i < n:
            x[i] = math.sin(x[i])

    with gpus.set_current("K20c"):
        sine.specialize(numba.float32[::1], numba.int64)
        sine.specialize(numba.float64[::1], numba.int64)
    for element in (numba.float32, numba.float64):
        words = numba.void(element[::1], numba.int64).args
        assert sine.get_regs_per_thread()[words] == sine.get_regs_per_thread(numba.void(*words)) > 0
    with pytest.raises(KeyError):
        assert sine.get_regs_per_thread()[numba.int32[::1], numba.int64]


def test_listings_of_declared_kernels_are_a_dict():
    @cuda.jit(["void(int32[::1])", "void(float32[::1])"])
    def first(x):
        x[0] = 1

    single = cuda.jit("void(int32[::1])")(first.py_func)
    assert set(first.inspect_asm()) == {(int32[::1],), (types.float32[::1],)}
    assert set(single.inspect_asm()) == {(int32[::1],)}
    assert "st.global" in single.inspect_asm()[(int32[::1],)]
    assert first.get_regs_per_thread().keys() == first.inspect_asm().keys()
