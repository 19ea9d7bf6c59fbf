"""Dividing click data into sessions: boundaries in one kernel, labels in a second (Numba's example syncs the grid)."""

import numpy as np
from numba import cuda

SESSION_TIMEOUT = 3600
USERS = np.array([1] * 6 + [2] * 3 + [3] * 10 + [4] * 9, np.int32)
SECONDS = np.array(
    [1, 2, 3, 5000, 5001, 5002, 1, 2, 3, 1, 2, 5000, 5001, 10000, 10001, 10002, 10003, 15000, 150001]
    + [1, 5000, 50001, 15000, 20000, 25000, 25001, 25002, 25003],
    np.int32,
)


@cuda.jit
def boundaries(user_id, timestamp, results):
    gid = cuda.grid(1)
    size = len(user_id)

    if gid >= size:
        return

    is_first_datapoint = gid == 0
    if not is_first_datapoint:
        new_user = user_id[gid] != user_id[gid - 1]
        timed_out = timestamp[gid] - timestamp[gid - 1] > SESSION_TIMEOUT
        is_sess_boundary = new_user or timed_out
    else:
        is_sess_boundary = True

    results[gid] = gid if is_sess_boundary else -1


@cuda.jit
def labels(results):
    gid = cuda.grid(1)
    size = len(results)
    if gid < size and results[gid] == gid:
        look_ahead = 1
        while gid + look_ahead < size and results[gid + look_ahead] < 0:
            results[gid + look_ahead] = gid
            look_ahead += 1


def run():
    ids, sec = cuda.to_device(USERS), cuda.to_device(SECONDS)
    results = cuda.to_device(np.zeros(len(ids), np.int32))
    boundaries.forall(len(ids))(ids, sec, results)
    labels.forall(len(ids))(results)
    expected = [0, 0, 0, 3, 3, 3, 6, 6, 6, 9, 9, 11, 11, 13, 13, 13, 13, 17, 18, 19, 20, 21, 21, 23, 24, 24, 24, 24]
    np.testing.assert_array_equal(results.copy_to_host(), expected)
    return results.copy_to_host()
