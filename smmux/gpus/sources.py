"""Sources of the machines' numbers: the key that stands beside each value, and the document that it names.

A value's source is one or more references separated by "; ". Each reference starts with a key of `TITLES`, followed by
the place in that document ("PG55 G.3.1": section G.3.1 of the CUDA C Programming Guide 5.5).
"""

from __future__ import annotations

__all__ = ["CHANGED", "TITLES", "keys"]

CHANGED = "CHANGED"

TITLES: dict[str, str] = {
    "P000": "Yang et al.: Shared Memory Multiplexing, a Novel Way to Improve GPGPU Throughput (PACT 2012)",
    "S001": "Kepler shared-memory bank modes on a Tesla K20c (21-point filter)",
    "S002": "Lashgar, Atoofian and Baniasadi: TELEPORT, hardware/software alternative to CUDA shared memory (2018)",
    "CTAT": "lashgar/ctatracker: GPGPU-Sim 3.2.2 that fetches the data of a thread block ahead (2015)",
    "PG55": "NVIDIA CUDA C Programming Guide PG-02829-001 v5.5 (T12: Table 12, T2: Table 2)",
    "OCC21": "NVIDIA CUDA Occupancy Calculator 2.1, spreadsheet cells and formulas",
    "OCC51": "NVIDIA CUDA Occupancy Calculator 5.1",
    "GS302": "GPGPU-Sim 3.0.2, source and configs/QuadroFX5800 (commit 9f69e086)",
    "GS32": "GPGPU-Sim 3.2, configs/QuadroFX5800 as kept in commit 90ec3399",
    "GS-480": "GPGPU-Sim, configurations of the GTX480, 3.x and 4.0 (commit 90ec3399)",
    "GS-KEP": "GPGPU-Sim, configuration of the Kepler TITAN (commit 90ec3399)",
    "MERPSYS": "Modeling parallel processing with GPU (MERPSYS thesis), quoting Andersch, Volkov and Wong",
    "PPT": "PPT-GPU, Kepler latencies (lanl/PPT)",
    "PPOPP17": "Zhang et al.: Understanding the GPU microarchitecture to achieve bare-metal tuning (PPoPP 2017)",
    "VOLK10": "Volkov: Better performance at lower occupancy (GTC 2010), as quoted in secondary texts",
    "GMB": "gpumembench, measurements of a GTX480",
    "RAM1": "Ramulator 1, GDDR5 timings (commit 214f6358)",
    "GEM5": "gem5, GDDR5_4000_2x32 (src/mem/DRAMInterface.py)",
    "SDK-R": "Harris: Optimizing Parallel Reduction in CUDA (measured on a G80)",
    "SDK-T": "Ruetsch and Micikevicius: Optimizing Matrix Transpose in CUDA",
    "ENVY": "envytools: documentation of NVIDIA hardware (commit f102b823)",
    "PAT-BANK": "US patent 7,620,793 B1 (NVIDIA, 2006): memory partitions and pages, bank interleave patterns",
    "PAT-CLEAN": "US patents 8,060,700 B1 and 8,341,358 B1 (NVIDIA): dirty data of an L2 cleaned by DRAM page",
    "ATOM-STR": "strobe.cc: CUDA atomics (measurements of a GTX275)",
    "SHOC": "SHOC benchmark results of named cards (vetter/shoc, commit 0aea03b)",
    "DQ285": "deviceQuery output of a GTX285",
    "DQ480": "deviceQuery output of a GTX480",
    "TB200": "NVIDIA GeForce GTX 200 GPU Architectural Overview, technical brief (2008)",
    "REV285": "GTX285 launch reviews (clocks, bus width, bandwidth)",
    "BD-K20": "NVIDIA Tesla K20 board specification BD-06499-001",
    "JIA18": "Jia et al.: Dissecting the NVIDIA Volta GPU architecture (arXiv 1804.06826): a K80",
    "PAT-PF": "US patent 9,110,810: Multi-level instruction cache prefetching (NVIDIA, filed 2011)",
    "PAT-SPM": "NVIDIA patents of the Fermi time, on the caches between an SM and the L2",
    "NSIGHT-GCC": "NVIDIA Nsight documentation, the unit GCC",
    "WIKI": "Wikipedia, CUDA: technical specifications (instruction caches; after Wong et al.)",
    "CUDABMK": "source of the microbenchmarks of Wong et al. (github.com/spthm/cudabmk): texture cache, TLB",
    "WONG2": "a third party's note on the results of Wong et al.",
    "HBM3": "Ramulator 2.1, HBM3 of JESD238 at 6400 Mb/s, its times in clocks of the machine (commit c5b1c3a)",
    "QMD": "launch descriptors of NVIDIA's open-gpu-doc (clc6c0qmd.h, QMDV03_00: PROGRAM_PREFETCH_SIZE, in 256 bytes)",
    "PTXAS": "registers that ptxas 13 takes of Numba's kernels for sm_90 (experiments/hardware/registers_sm90.csv)",
    "HOPPER": "measured on an H100 SXM here (docs/hopper.md, experiments/hardware/hopper), or documented of it",
    "H200": "measured on an H200 SXM here (docs/hopper.md, experiments/hardware/hopper), or documented of it",
    "MEM": "from memory of the literature, unverified (Wong et al., ISPASS 2010, where named)",
    "EST": "estimate without a source",
    "DER": "arithmetic on sourced values",
    "FIT": "chosen so that microbenchmarks of the card come out, which then are no check of it",
    "MODEL": "choice of a model or policy of this simulator, not a property of the card",
    "NA": "the machine has no such operation; the value is never used",
    CHANGED: "changed by the user: not the value of the named machine",
}


def keys(source: str) -> tuple[str, ...]:
    """The keys in a source, in order.

    >>> keys("PG55 5.2.3; GS302")
    ('PG55', 'GS302')
    """
    return tuple(reference.split()[0] for reference in source.split("; "))
