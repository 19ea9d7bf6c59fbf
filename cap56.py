import pickle, numpy as np, smmux
from pathlib import Path
from smmux.compiler.sass import tools
data=tools.compile_cuda(Path("/tmp/probe/p56.cu"),"sm_90",["-O3"])
m=smmux.load(data)
L=[]
def go(name,grid,block,*args):
    k=m[name]; saved=[a.copy() if isinstance(a,np.ndarray) else a for a in args]
    r=k.simulate(grid,block,list(args),gpu="H200")
    L.append(dict(file="p56",test=name,kernel=name,mangled=k.mangled,grid=grid,block=block,args=saved,after=[a.copy() if isinstance(a,np.ndarray) else a for a in args],sizes=[p.size for p in k.parameters],shared=0,variables=None,cubin="p56",cycles=r.cycles,insts=r.counters["instructions"],keep=True))
    tr,e=args[-2],args[-1]; print(name,grid,block,"tries",tr.reshape(-1,4).sum(0).tolist(),"end",e.max(),"cycles",r.cycles,flush=True)
def arr(n,per): return np.zeros(1,np.uint64),np.zeros(n*per+1,np.uint32)
for b,t in ((1,32),(3,32),(1,96),(12,32),(3,1),(32,1)):
    n=b*t; per=4
    h,nx=arr(n,per)
    go("treiber",b,t,h,nx,np.zeros(n*per,np.uint32),np.zeros(1,np.uint32),per,np.zeros(4*n,np.uint32),np.zeros(n,np.int64))
    for k in ("pushes","unfenced","bare"):
        h,nx=arr(n,per); go(k,b,t,h,nx,per,np.zeros(4*n,np.uint32),np.zeros(n,np.int64))
for b,t in ((1,32),(8,32),(1,256),(132,32),(64,128)):
    n=b*t; go("lock",b,t,np.zeros(1,np.uint32),np.zeros(1,np.uint32),4,np.zeros(4*n,np.uint32),np.zeros(n,np.int64))
for t in (32,128,1024):
    for g in (1,8,64):
        go("shcas",1,t,np.zeros(64,np.uint32),4,g,np.zeros(4*t,np.uint32),np.zeros(t,np.int64))
        go("shadd",1,t,np.zeros(64,np.float32),4,g,np.zeros(4*t,np.uint32),np.zeros(t,np.int64))
pickle.dump(({"p56":data},L),open("/tmp/probe/cap56.pkl","wb"))
