"""Words of machine code, one per form of instruction, as ptxas encodes them.

    python -m experiments.hardware.hopper.forms

Every form is a line of PTX in a kernel of its own. ptxas compiles it, nvdisasm names what came out, and the first
instruction whose text begins as said is kept in `words.json`. `assembler.py` puts other registers and control bits in.
This needs ptxas and nvdisasm (pip install nvidia-cuda-nvcc nvidia-cuda-nvdisasm); measuring needs only `words.json`.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path

from smmux.base import whole_files

WORDS = Path(__file__).with_name("words.json")
HEADER = ".version 8.8\n.target sm_90a\n.address_size 64\n"
KERNEL = """.visible .entry f{number}(.param .u64 from, .param .u64 to) {{
.reg .b32 %a, %b, %c, %r<9>; .reg .f32 %x, %y, %z, %f<9>; .reg .b64 %p, %q, %s<9>; .reg .f64 %u, %v, %w;
.reg .pred %k, %l; .reg .b16 %h, %i; .shared .align 16 .b8 sh[4096];
ld.param.u64 %p, [from]; ld.param.u64 %q, [to];
ld.volatile.global.b32 %a, [%p]; ld.volatile.global.b32 %b, [%p+4]; ld.volatile.global.b32 %c, [%p+8];
ld.volatile.global.f32 %x, [%p+12]; ld.volatile.global.f32 %y, [%p+16]; ld.volatile.global.f32 %z, [%p+20];
ld.volatile.global.f64 %u, [%p+24]; ld.volatile.global.f64 %v, [%p+32]; ld.volatile.global.f64 %w, [%p+40];
ld.volatile.global.b64 %s1, [%p+48]; ld.volatile.global.b64 %s2, [%p+56]; ld.volatile.global.b64 %s3, [%p+64];
ld.volatile.global.b16 %h, [%p+72]; ld.volatile.global.b16 %i, [%p+74];
mov.b32 %r1, 0; mov.b32 %r2, 0; mov.b32 %r3, 0; mov.b32 %r4, 0; mov.b64 %s4, 0; mov.b64 %s5, 0;
mov.f32 %f1, 0f00000000;
setp.ne.s32 %k, %a, 77; setp.ne.s32 %l, %b, 78;
{body}
st.volatile.global.b32 [%q], %r1; st.volatile.global.b32 [%q+4], %r2; st.volatile.global.b32 [%q+8], %r3;
st.volatile.global.b32 [%q+12], %r4; st.volatile.global.b64 [%q+16], %s4; st.volatile.global.b64 [%q+24], %s5;
st.volatile.global.f32 [%q+32], %f1;
ret; }}
"""
R, F, S = "%r1, %a, %b", "%f1, %x, %y", "%s4, %s1, %s2"
SEL = "selp.b32 %r1, %a, %b, %k;"
_MMA = (
    ".reg .b32 %m<12>; mov.b32 %m0,%a; mov.b32 %m1,%b; mov.b32 %m2,%c; add.u32 %m3,%a,%b; xor.b32 %m4,%a,%c; "
    "and.b32 %m5,%b,%c; mov.b32 %m6,%a; mov.b32 %m7,%b; mov.b32 %m8,%c; mov.b32 %m9,%a; "
)
_D, _A4, _A2, _B2 = "{%m6,%m7,%m8,%m9}", "{%m0,%m1,%m2,%m3}", "{%m0,%m1}", "{%m4,%m5}"
_OUT = " mov.b32 %r1,%m6; mov.b32 %r2,%m7; mov.b32 %r3,%m8; mov.b32 %r4,%m9;"


def _mma(shape: str, types: str, a: str, b: str) -> str:
    return f"{_MMA} mma.sync.aligned.{shape}.row.col.{types} {_D}, {a}, {b}, {_D};{_OUT}"


# name: (how the instruction's text begins, PTX)
FORMS: dict[str, tuple[str, str]] = {
    "FADD": ("FADD", f"add.f32 {F};"),
    "FMUL": ("FMUL", f"mul.f32 {F};"),
    "FFMA": ("FFMA", f"fma.rn.f32 {F}, %z;"),
    "FADD.FTZ": ("FADD.FTZ", f"add.ftz.f32 {F};"),
    "FADD.RM": ("FADD.RM", f"add.rm.f32 {F};"),
    "FADD.RP": ("FADD.RP", f"add.rp.f32 {F};"),
    "FADD.RZ": ("FADD.RZ", f"add.rz.f32 {F};"),
    "FADD.SAT": ("FADD.SAT", f"add.sat.f32 {F};"),
    "FMUL.FTZ": ("FMUL.FTZ", f"mul.ftz.f32 {F};"),
    "FMUL.RZ": ("FMUL.RZ", f"mul.rz.f32 {F};"),
    "FFMA.FTZ": ("FFMA.FTZ", f"fma.rn.ftz.f32 {F}, %z;"),
    "FFMA.SAT": ("FFMA.SAT", f"fma.rn.sat.f32 {F}, %z;"),
    "FFMA.RM": ("FFMA.RM", f"fma.rm.f32 {F}, %z;"),
    "FFMA.RP": ("FFMA.RP", f"fma.rp.f32 {F}, %z;"),
    "FFMA.RZ": ("FFMA.RZ", f"fma.rz.f32 {F}, %z;"),
    "FMNMX": ("FMNMX", f"min.f32 {F};"),
    "FMNMX.MAX": ("FMNMX", f"max.f32 {F};"),
    "FMNMX.NAN": ("FMNMX.NAN", f"min.NaN.f32 {F};"),
    "FMNMX.FTZ": ("FMNMX.FTZ", f"min.ftz.f32 {F};"),
    "FMNMX.XORSIGN": ("FMNMX.XORSIGN", f"min.xorsign.abs.f32 {F};"),
    "FSEL": ("FSEL", f"selp.f32 {F}, %k; add.f32 %f1,%f1,%z;"),
    "FSETP": ("FSETP", "setp.lt.f32 %k, %x, %y; " + SEL),
    "FSETP.GEU": ("FSETP.GEU", "setp.geu.f32 %k, %x, %y; " + SEL),
    "FSETP.NAN": ("FSETP.NAN", "setp.num.f32 %k, %x, %y; " + SEL),
    "FCHK": ("FCHK", "div.rn.f32 %f1, %x, %y;"),
    "IADD3": ("IADD3", f"add.u32 {R}; add.u32 %r1, %r1, %c;"),
    "IADD3.P": ("IADD3 R", f"add.cc.u32 {R}; addc.u32 %r2, %b, %c;"),
    "IADD3.X": ("IADD3.X", f"add.cc.u32 {R}; addc.u32 %r2, %b, %c;"),
    "IMAD": ("IMAD R", f"mad.lo.u32 {R}, %c;"),
    "IMAD.IADD": ("IMAD.IADD", f"add.u32 {R}; add.u32 %r2, %c, %a; sub.u32 %r3, %b, %c; add.u32 %r4, %c, %b;"),
    "IMAD.HI": ("IMAD.HI R", f"mul.hi.s32 {R};"),
    "IMAD.HI.U32": ("IMAD.HI.U32", f"mul.hi.u32 {R};"),
    "IMAD.WIDE": ("IMAD.WIDE R", "mad.wide.s32 %s4, %a, %b, %s1;"),
    "IMAD.WIDE.U32": ("IMAD.WIDE.U32", "mad.wide.u32 %s4, %a, %b, %s1;"),
    "LOP3.LUT": ("LOP3.LUT", f"lop3.b32 {R}, %c, 0x96;"),
    "LOP3.LUT.P": ("LOP3.LUT P", "lop3.or.b32 %r1|%k, %a, %b, %c, 0x96, %l; selp.b32 %r1, %r1, %c, %k;"),
    "SHF.L.U32": ("SHF.L.U32", f"shl.b32 {R};"),
    "SHF.R.U32.HI": ("SHF.R.U32.HI", f"shr.u32 {R};"),
    "SHF.R.S32.HI": ("SHF.R.S32.HI", f"shr.s32 {R};"),
    "SHF.L.W.U32.HI": ("SHF.L.W.U32.HI", f"shf.l.wrap.b32 {R}, %c;"),
    "SHF.R.W.U32": ("SHF.R.W.U32", f"shf.r.wrap.b32 {R}, %c;"),
    "SHF.R.U32": ("SHF.R.U32 ", f"shf.r.clamp.b32 {R}, %c;"),
    "PRMT": ("PRMT", f"prmt.b32 {R}, %c;"),
    "PRMT.F4E": ("PRMT.F4E", f"prmt.b32.f4e {R}, %c;"),
    "PRMT.B4E": ("PRMT.B4E", f"prmt.b32.b4e {R}, %c;"),
    "PRMT.RC8": ("PRMT.RC8", f"prmt.b32.rc8 {R}, %c;"),
    "PRMT.ECL": ("PRMT.ECL", f"prmt.b32.ecl {R}, %c;"),
    "PRMT.ECR": ("PRMT.ECR", f"prmt.b32.ecr {R}, %c;"),
    "PRMT.RC16": ("PRMT.RC16", f"prmt.b32.rc16 {R}, %c;"),
    "SEL": ("SEL", SEL),
    "VIMNMX": ("VIMNMX", f"min.s32 {R};"),
    "VIMNMX.U32": ("VIMNMX.U32", f"max.u32 {R};"),
    "VIMNMX3": ("VIMNMX3", f"max.s32 {R}; max.s32 %r1, %r1, %c;"),
    "VIADDMNMX": ("VIADDMNMX", f"add.s32 {R}; max.s32 %r1, %r1, %c;"),
    "VABSDIFF": ("VABSDIFF", f"sad.s32 {R}, %c;"),
    "VABSDIFF.U32": ("VABSDIFF.U32", f"sad.u32 {R}, %c;"),
    "VABSDIFF4.U8": ("VABSDIFF4.U8", f"vabsdiff4.u32.u32.u32.add {R}, %c;"),
    "IABS": ("IABS", "abs.s32 %r1, %a;"),
    "IDP.4A": ("IDP.4A.S8.S8", f"dp4a.s32.s32 {R}, %c;"),
    "IDP.4A.U8": ("IDP.4A.U8.U8", f"dp4a.u32.u32 {R}, %c;"),
    "IDP.2A": ("IDP.2A", f"dp2a.lo.s32.s32 {R}, %c;"),
    "LEA": ("LEA R", "shl.b32 %r1, %a, 2; add.u32 %r1, %r1, %b;"),
    "SGXT": ("SGXT", "szext.clamp.s32 %r1, %a, %b;"),
    "BMSK": ("BMSK", f"bmsk.clamp.b32 {R};"),
    "POPC": ("POPC", "popc.b32 %r1, %a;"),
    "FLO.U32": ("FLO.U32", "bfind.u32 %r1, %a;"),
    "FLO.S32": ("FLO R", "bfind.s32 %r1, %a;"),
    "FLO.SH": ("FLO.U32.SH", "bfind.shiftamt.u32 %r1, %a;"),
    "BREV": ("BREV", "brev.b32 %r1, %a;"),
    "PLOP3": ("PLOP3", "and.pred %k, %k, %l; setp.eq.and.s32 %l, %b, %c, %k; xor.pred %k, %k, %l; " + SEL),
    "MUFU.RCP": ("MUFU.RCP", "rcp.approx.ftz.f32 %f1, %x;"),
    "MUFU.RSQ": ("MUFU.RSQ", "rsqrt.approx.ftz.f32 %f1, %x;"),
    "MUFU.SQRT": ("MUFU.SQRT", "sqrt.approx.ftz.f32 %f1, %x;"),
    "MUFU.SIN": ("MUFU.SIN", "sin.approx.ftz.f32 %f1, %x;"),
    "MUFU.COS": ("MUFU.COS", "cos.approx.ftz.f32 %f1, %x;"),
    "MUFU.LG2": ("MUFU.LG2", "lg2.approx.ftz.f32 %f1, %x;"),
    "MUFU.EX2": ("MUFU.EX2", "ex2.approx.ftz.f32 %f1, %x;"),
    "MUFU.TANH": ("MUFU.TANH", "tanh.approx.f32 %f1, %x;"),
    "MUFU.EX2.F16": ("MUFU.EX2.F16", "ex2.approx.f16 %h, %i; cvt.u32.u16 %r1, %h;"),
    "MUFU.TANH.F16": ("MUFU.TANH.F16", "tanh.approx.f16 %h, %i; cvt.u32.u16 %r1, %h;"),
    "MUFU.RCP64H": ("MUFU.RCP64H", "rcp.approx.ftz.f64 %u, %v; mov.b64 %s4, %u;"),
    "MUFU.RSQ64H": ("MUFU.RSQ64H", "rsqrt.approx.ftz.f64 %u, %v; mov.b64 %s4, %u;"),
    "F2I": ("F2I.NTZ", "cvt.rni.s32.f32 %r1, %x;"),
    "F2I.TRUNC": ("F2I.TRUNC.NTZ", "cvt.rzi.s32.f32 %r1, %x;"),
    "F2I.U32.TRUNC": ("F2I.U32.TRUNC.NTZ", "cvt.rzi.u32.f32 %r1, %x;"),
    "F2I.FLOOR": ("F2I.FLOOR.NTZ", "cvt.rmi.s32.f32 %r1, %x;"),
    "F2I.CEIL": ("F2I.CEIL.NTZ", "cvt.rpi.s32.f32 %r1, %x;"),
    "F2I.S64": ("F2I.S64", "cvt.rzi.s64.f32 %s4, %x;"),
    "F2I.U64": ("F2I.U64", "cvt.rzi.u64.f32 %s4, %x;"),
    "F2I.F64": ("F2I.F64", "cvt.rzi.s32.f64 %r1, %u;"),
    "F2I.U32.F64": ("F2I.U32.F64", "cvt.rzi.u32.f64 %r1, %u;"),
    "F2I.S64.F64": ("F2I.S64.F64", "cvt.rzi.s64.f64 %s4, %u;"),
    "I2FP.F32.S32": ("I2FP.F32.S32", "cvt.rn.f32.s32 %f1, %a;"),
    "I2FP.F32.U32": ("I2FP.F32.U32", "cvt.rn.f32.u32 %f1, %a;"),
    "I2F.S64": ("I2F.S64", "cvt.rn.f32.s64 %f1, %s1;"),
    "I2F.F64": ("I2F.F64", "cvt.rn.f64.s32 %u, %a; mov.b64 %s4, %u;"),
    "I2F.F64.S64": ("I2F.F64.S64", "cvt.rn.f64.s64 %u, %s1; mov.b64 %s4, %u;"),
    "I2F.RP": ("I2F.U32.RP", "cvt.rp.f32.u32 %f1, %a;"),
    "I2F.U8": ("I2F.U8", "cvt.u32.u8 %r5, %a; cvt.rn.f32.u8 %f1, %r5;"),
    "F2F.F32.F64": ("F2F.F32.F64", "cvt.rn.f32.f64 %f1, %u;"),
    "F2F.F64.F32": ("F2F.F64.F32", "cvt.f64.f32 %u, %x; mov.b64 %s4, %u;"),
    "FRND": ("FRND R", "cvt.rni.f32.f32 %f1, %x;"),
    "FRND.FLOOR": ("FRND.FLOOR", "cvt.rmi.f32.f32 %f1, %x;"),
    "FRND.TRUNC": ("FRND.TRUNC", "cvt.rzi.f32.f32 %f1, %x;"),
    "FRND.F64": ("FRND.F64", "cvt.rni.f64.f64 %u, %v; mov.b64 %s4, %u;"),
    "F2FP.F16": ("F2FP.F16.F32.PACK_AB", "cvt.rn.f16x2.f32 %r1, %x, %y;"),
    "F2FP.BF16": ("F2FP.BF16.F32.PACK_AB", "cvt.rn.bf16x2.f32 %r1, %x, %y;"),
    "F2FP.F16.RZ": ("F2FP.F16.F32.PACK_AB_RZ|F2FP.F16.F32.PACK_AB.RZ|F2FP.RZ", "cvt.rz.f16x2.f32 %r1, %x, %y;"),
    "F2FP.E4M3": ("F2FP.SATFINITE.E4M3", "cvt.rn.satfinite.e4m3x2.f32 %h, %x, %y; cvt.u32.u16 %r1, %h;"),
    "F2FP.E5M2": ("F2FP.SATFINITE.E5M2", "cvt.rn.satfinite.e5m2x2.f32 %h, %x, %y; cvt.u32.u16 %r1, %h;"),
    "F2FP.UNPACK.E4M3": ("F2FP.F16.E4M3.UNPACK_B", "cvt.rn.f16x2.e4m3x2 %r1, %h;"),
    "F2FP.UNPACK.E5M2": ("F2FP.F16.E5M2.UNPACK_B", "cvt.rn.f16x2.e5m2x2 %r1, %h;"),
    "HADD2.F32": ("HADD2.F32", "cvt.f32.f16 %f1, %h;"),
    "HFMA2": ("HFMA2 ", f"fma.rn.f16x2 {R}, %c; fma.rn.f16x2 %r2, %r1, %b, %c; fma.rn.f16x2 %r3, %r2, %a, %b;"),
    "HFMA2.MMA": ("HFMA2.MMA ", f"fma.rn.f16x2 {R}, %c; fma.rn.f16x2 %r2, %r1, %b, %c; fma.rn.f16x2 %r3, %r2, %a, %b;"),
    "HFMA2.BF16": ("HFMA2.BF16|HFMA2.MMA.BF16", f"fma.rn.bf16x2 {R}, %c;"),
    "HFMA2.RELU": ("HFMA2.RELU|HFMA2.MMA.RELU", f"fma.rn.relu.f16x2 {R}, %c;"),
    "HMNMX2": ("HMNMX2 ", f"min.f16x2 {R};"),
    "HMNMX2.NAN": ("HMNMX2.NAN", f"min.NaN.f16x2 {R};"),
    "HSETP2": ("HSETP2", "setp.lt.f16x2 %k|%l, %a, %b; " + SEL),
    "HSET2": ("HSET2", f"set.lt.f16x2.f16x2 {R};"),
    "DADD": ("DADD", "add.f64 %u, %v, %w; mov.b64 %s4, %u;"),
    "DMUL": ("DMUL", "mul.f64 %u, %v, %w; mov.b64 %s4, %u;"),
    "DFMA": ("DFMA", "fma.rn.f64 %u, %u, %v, %w; mov.b64 %s4, %u;"),
    "DSETP": ("DSETP", "setp.lt.f64 %k, %u, %v; " + SEL),
    "SHFL.IDX": ("SHFL.IDX", "shfl.sync.idx.b32 %r1|%k, %a, %b, 31, -1; selp.b32 %r2,%a,%b,%k;"),
    "SHFL.BFLY": ("SHFL.BFLY", "shfl.sync.bfly.b32 %r1|%k, %a, 1, 31, -1; selp.b32 %r2,%a,%b,%k;"),
    "SHFL.UP": ("SHFL.UP", "shfl.sync.up.b32 %r1|%k, %a, %b, %c, -1; selp.b32 %r2,%a,%b,%k;"),
    "SHFL.DOWN": ("SHFL.DOWN", "shfl.sync.down.b32 %r1|%k, %a, %b, %c, -1; selp.b32 %r2,%a,%b,%k;"),
    "VOTE.ANY": ("VOTE.ANY R", "vote.sync.ballot.b32 %r1, %k, -1;"),
    "VOTE.ALL": ("VOTE.ALL P", "vote.sync.all.pred %k, %k, -1; " + SEL),
    "MATCH.ANY": ("MATCH.ANY R", "match.any.sync.b32 %r1, %a, -1;"),
    "MATCH.ALL": ("MATCH.ALL", "match.all.sync.b32 %r1, %a, -1;"),
    "REDUX.SUM": ("REDUX.SUM", "redux.sync.add.u32 %r1, %a, -1;"),
    "REDUX.MAX": ("REDUX.MAX.S32", "redux.sync.max.s32 %r1, %a, -1;"),
    "REDUX.XOR": ("REDUX.XOR", "redux.sync.xor.b32 %r1, %a, -1;"),
    "MOV.UR": ("MOV R\\d+, UR|IMAD.U32 R\\d+, RZ, RZ, UR|IMAD.MOV.U32 R\\d+, RZ, RZ, UR",
        "redux.sync.add.u32 %r1, %a, -1;"),
    "S2R.TID": ("S2R R\\d+, SR_TID.X", "mov.u32 %r1, %tid.x;"),
    "S2R.LANE": ("S2R R\\d+, SR_LANEID", "mov.u32 %r1, %laneid;"),
    "S2R.SM": ("S2R R\\d+, SR_VIRTUALSMID", "mov.u32 %r1, %smid;"),
    "CS2R.32": ("CS2R.32 R\\d+, SR_CLOCKLO|S2R R\\d+, SR_CLOCKLO|S2UR UR\\d+, SR_CLOCKLO", "mov.u32 %r1, %clock;"),
    "CS2R": ("CS2R R\\d+, SR_CLOCKLO", "mov.u64 %s4, %clock64;"),
    "LDC": ("LDC R\\d+, c\\[0x0\\]\\[R",
        (".reg .b64 %g; cvt.u64.u32 %g, %a; and.b64 %g, %g, 12; .reg .b64 %j; mov.b64 %j, from; "
        "add.u64 %g, %g, %j; ld.param.b32 %r1, [%g];")),
    "LDC.IMM": ("LDC R\\d+, c\\[0x0\\]\\[0x", ""),
    "LDS": ("LDS R", "ld.shared.b32 %r1, [%a+16];"),
    "LDS.U8": ("LDS.U8 R", "ld.shared.u8 %r1, [%a+16];"),
    "LDS.64": ("LDS.64 R", "ld.shared.v2.b32 {%r1, %r2}, [%a+16];"),
    "LDS.128": ("LDS.128 R", "ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [%a+16];"),
    "STS": ("STS \\[", "st.shared.b32 [%a+16], %b;"),
    "STS.U8": ("STS.U8 \\[", "st.shared.u8 [%a+16], %b;"),
    "STS.64": ("STS.64 \\[", "st.shared.v2.b32 [%a+16], {%b, %c};"),
    "STS.128": ("STS.128 \\[", "st.shared.v4.b32 [%a+16], {%b, %c, %a, %b};"),
    "LDSM": ("LDSM.16.M88 R", "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%a+16];"),
    "LDSM.2": ("LDSM.16.M88.2 R", "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1,%r2}, [%a+16];"),
    "LDSM.4": ("LDSM.16.M88.4 R", "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%a+16];"),
    "STSM.4": ("STSM.16.M88.4", "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%a+16], {%b,%c,%a,%b};"),
    "MOVM": ("MOVM", "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %a;"),
    "ATOMS.ADD": ("ATOMS.ADD R", "atom.shared.add.u32 %r1, [%a+16], %b;"),
    "ATOMS.MAX": ("ATOMS.MAX", "atom.shared.max.s32 %r1, [%a+16], %b;"),
    "ATOMS.CAS": ("ATOMS.CAS R", "atom.shared.cas.b32 %r1, [%a+16], %b, %c;"),
    "ATOMS.EXCH": ("ATOMS.EXCH", "atom.shared.exch.b32 %r1, [%a+16], %b;"),
    "ATOMS.POPC.INC": ("ATOMS.POPC.INC", "red.shared.add.u32 [%a+16], 1;"),
    "ATOMS.CAST.SPIN": ("ATOMS.CAST.SPIN", "red.shared.add.f32 [%a+16], %x;"),
    "LDG.W": ("LDG.E R", "ld.weak.global.b32 %r1, [%s1+16];"),
    "LDG.U8": ("LDG.E.U8 R", "ld.weak.global.u8 %r1, [%s1+16];"),
    "LDG.64": ("LDG.E.64 R", "ld.weak.global.v2.b32 {%r1, %r2}, [%s1+16];"),
    "LDG.128": ("LDG.E.128 R", "ld.weak.global.v4.b32 {%r1, %r2, %r3, %r4}, [%s1+16];"),
    "LDG.CONSTANT": ("LDG.E.CONSTANT R", "ld.global.nc.b32 %r1, [%s1+16];"),
    "LDG.GPU": ("LDG.E.STRONG.GPU R", "ld.relaxed.gpu.global.b32 %r1, [%s1+16];"),
    "LDG.GPU.128": ("LDG.E.128.STRONG.GPU R", "ld.relaxed.gpu.global.v4.b32 {%r1, %r2, %r3, %r4}, [%s1+16];"),
    "STG": ("STG.E desc", "st.weak.global.b32 [%s1+16], %b;"),
    "STG.U8": ("STG.E.U8 desc", "st.weak.global.u8 [%s1+16], %b;"),
    "STG.64": ("STG.E.64 desc", "st.weak.global.v2.b32 [%s1+16], {%b, %c};"),
    "STG.128": ("STG.E.128 desc", "st.weak.global.v4.b32 [%s1+16], {%b, %c, %a, %b};"),
    "LD": ("LD.E R", "ld.b32 %r1, [%s1+16];"),
    "LDGSTS": ("LDGSTS.E \\[", "cp.async.ca.shared.global [%a+16], [%s1+16], 4;"),
    "LDGSTS.64": ("LDGSTS.E.64 \\[", "cp.async.ca.shared.global [%a+16], [%s1+16], 8;"),
    "LDGSTS.128": ("LDGSTS.E.128 \\[", "cp.async.ca.shared.global [%a+16], [%s1+16], 16;"),
    "LDGSTS.BYPASS.128": ("LDGSTS.E.BYPASS.128 \\[", "cp.async.cg.shared.global [%a+16], [%s1+16], 16;"),
    "LDGDEPBAR": ("LDGDEPBAR", "cp.async.commit_group; cp.async.wait_group 0;"),
    "DEPBAR": ("DEPBAR.LE SB0", "cp.async.commit_group; cp.async.wait_group 0;"),
    "ATOMG.ADD": ("ATOMG.E.ADD.STRONG.GPU", "atom.relaxed.gpu.global.add.u32 %r1, [%s1+16], %b;"),
    "ATOMG.ADD.F32": ("ATOMG.E.ADD.F32", "atom.relaxed.gpu.global.add.f32 %f1, [%s1+16], %x;"),
    "ATOMG.CAS": ("ATOMG.E.CAS.STRONG.GPU", "atom.relaxed.gpu.global.cas.b32 %r1, [%s1+16], %b, %c;"),
    "ATOMG.EXCH": ("ATOMG.E.EXCH.STRONG.GPU", "atom.relaxed.gpu.global.exch.b32 %r1, [%s1+16], %b;"),
    "REDG.ADD": ("REDG.E.ADD.STRONG.GPU", "red.relaxed.gpu.global.add.u32 [%s1+16], %b;"),
    "REDG.ADD.F32": ("REDG.E.ADD.F32", "red.relaxed.gpu.global.add.f32 [%s1+16], %x;"),
    "HMMA.1688.F32": ("HMMA.1688.F32 R", _mma("m16n8k8", "f32.f16.f16.f32", _A2, "{%m4}")),
    "HMMA.16816.F32": ("HMMA.16816.F32 R", _mma("m16n8k16", "f32.f16.f16.f32", _A4, _B2)),
    "HMMA.16816.BF16": ("HMMA.16816.F32.BF16 R", _mma("m16n8k16", "f32.bf16.bf16.f32", _A4, _B2)),
    "HMMA.16816.F16": ("HMMA.16816.F16 R",
        _MMA + "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%m6,%m7}, {%m0,%m1,%m2,%m3}, {%m4,%m5}, "
        "{%m6,%m7};" + _OUT),
    "HMMA.1688.TF32": ("HMMA.1688.F32.TF32 R", _mma("m16n8k8", "f32.tf32.tf32.f32", _A4, _B2)),
    "IMMA.16832.S8": ("IMMA.16832.S8.S8 R", _mma("m16n8k32", "s32.s8.s8.s32", _A4, _B2)),
    "DMMA.884": ("DMMA",
        (".reg .f64 %g<4>; mov.f64 %g0,%u; mov.f64 %g1,%v; "
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g0,%g1}, {%w}, {%u}, {%g0,%g1}; "
        "mov.b64 %s4,%g0; mov.b64 %s5,%g1;")),
    "BAR.SYNC": ("BAR.SYNC", "bar.sync 0;"),
    "MEMBAR.CTA": ("MEMBAR.SC.CTA|MEMBAR.ALL.CTA", "fence.acq_rel.cta;"),
    "MEMBAR.GPU": ("MEMBAR.ALL.GPU", "fence.acq_rel.gpu;"),
    "MEMBAR.SC.GPU": ("MEMBAR.SC.GPU", "fence.sc.gpu;"),
    "MEMBAR.SYS": ("MEMBAR.ALL.SYS|MEMBAR.SC.SYS", "fence.acq_rel.sys;"),
    "ERRBAR": ("ERRBAR", "fence.sc.gpu;"),
    "CGAERRBAR": ("CGAERRBAR", "fence.sc.gpu;"),
    "CCTL.IVALL": ("CCTL.IVALL", "fence.sc.gpu;"),
    "NOP": ("NOP", ""),
    "EXIT": ("EXIT", ""),
    "NANOSLEEP": ("NANOSLEEP", "nanosleep.u32 100;"),
    "CCTL.PF2": ("CCTL.E.PF2", "prefetch.global.L2 [%s1+16];"),
}  # fmt: skip

COMPOSED = {  # no line of PTX brings these out reliably: opcode and bits put together, text as nvdisasm reads them
    "MOV": ("MOV R19, R3", 0x000FE20000000F000000000300137202),
    "HADD2": ("HADD2 R19, R0, R19", 0x004FCA00000000000000001300137230),
    "HMUL2": ("HMUL2 R19, R0, R19", 0x004FCA00000000000000001300137232),
    "VIADD": ("VIADD R19, R0, R19", 0x004FCA00000000000000001300137236),
    "IMAD.MOV.U32": ("IMAD.MOV.U32 R19, RZ, RZ, R18", 0x004FCA00078E0012000000FFFF137224),
    "ISETP": ("ISETP.LT.AND P0, PT, R0, R19, PT", 0x004FC80003F01270000000130000720C),
    "ISETP.U32": ("ISETP.LT.U32.AND P0, PT, R0, R19, PT", 0x004FC80003F01070000000130000720C),
    "UIADD3": ("UIADD3 UR4, UR4, UR5, URZ", 0x000FE2000FFFE03F0000000504047290),
    "R2UR": ("R2UR UR4, R19", 0x000E2400000E000000000000130472CA),
    "R2P": ("R2P PR, R19, 0x7f", 0x000FE200000000000000007F13007804),
    "P2R": ("P2R R19, PR, RZ, 0x7f", 0x000FE200000000000000007FFF137803),
    "ULDC": ("ULDC UR44, c[0x0][0x220]", 0x000FE4000000080000008800002C7AB9),
    "CS2R.Z": ("CS2R R4, SRZ", 0x000FE2000001FF000000000000047805),
    "BRA": ("BRA 0x20", 0x000FEA00038000000000000000007947),
    "WARPSYNC.ALL": ("WARPSYNC.ALL", 0x000FE200038000000000000000007948),
    "MOV.I": ("MOV R19, 0x3", 0x000FE20000000F000000000300137802),
    "VIADD.I": ("VIADD R19, R0, 0x13", 0x004FCA00000000000000001300137836),
    "ULOP3": ("ULOP3.LUT UR4, UR4, UR5, URZ, 0x96, !UPT", 0x000FC8000F8E963F0000000504047292),
    "UMOV": ("UMOV UR4, UR5", 0x000FE200080000000000000500047C82),
    "S2UR": ("S2UR UR4, SR_CTAID.X", 0x000E22000000250000000000000479C3),
    "BSSY": ("BSSY B0, 0x20", 0x000FE200038000000000000000007945),
    "BSYNC": ("BSYNC B0", 0x000FEA00038000000000000000007941),
    "YIELD": ("YIELD", 0x000FEA00038000000000000000007946),
    "FFMA.C": ("FFMA R19, R19, c[0x0][0x210], R21", 0x004FCA00000000150000840013137A23),
    "FADD.C": ("FADD R19, R19, c[0x0][0x210]", 0x004FCA00000000000000840013137621),
}


def compiled(names: list[str]) -> dict[str, str]:
    """The disassembly of each form's kernel."""
    text = HEADER + "".join(KERNEL.format(number=i, body="{" + FORMS[name][1] + "}") for i, name in enumerate(names))
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "forms.ptx"), Path(folder, "forms.cubin")
        source.write_text(text)
        subprocess.run(["ptxas", "-arch=sm_90a", source, "-o", cubin], check=True)
        listing = subprocess.run(["nvdisasm", "-hex", cubin], check=True, capture_output=True, text=True).stdout
    parts = re.split(r"\.text\.f(\d+):", listing)[1:]
    return {names[int(number)]: body for number, body in zip(parts[::2], parts[1::2], strict=True)}


def instructions(listing: str) -> list[tuple[str, int]]:
    """The instructions of a disassembly: text, and the word as one number of 128 bits."""
    pattern = re.compile(r"/\*[0-9a-f]{4,}\*/\s+(.*?) ?;\s+/\* 0x([0-9a-f]{16}) \*/\s+/\* 0x([0-9a-f]{16}) \*/")
    return [(text, int(high, 16) << 64 | int(low, 16)) for text, low, high in pattern.findall(listing)]


def check(words: dict[str, dict[str, str]]) -> None:
    """nvdisasm reads each word as its text says; addresses of branches aside."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "words")
        path.write_bytes(b"".join(int(form["word"], 16).to_bytes(16, "little") for form in words.values()))
        command = ["nvdisasm", "-b", "SM90", "-hex", str(path)]
        listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for (name, form), (text, _) in zip(words.items(), instructions(listing), strict=True):
        if text.split(" ")[0] != form["text"].split(" ")[0] or (name not in ("BRA", "BSSY") and text != form["text"]):
            print("differs:", name, form["text"], "|", text)


def main() -> None:
    """Compile all forms and write their words."""
    words, missing = {}, []
    for name, listing in compiled(list(FORMS)).items():
        found = [row for row in instructions(listing) if re.match(rf"(?:@!?U?P\d )?(?:{FORMS[name][0]})", row[0])]
        if found:
            words[name] = {"text": found[0][0], "word": f"{found[0][1]:032x}"}
        else:
            missing.append(name)
    words |= {name: {"text": text, "word": f"{word:032x}"} for name, (text, word) in COMPOSED.items()}
    check(words)
    whole_files.write_text(WORDS, json.dumps(words, indent=1) + "\n")
    print(len(words), "forms; none for", *missing)


if __name__ == "__main__":
    main()
