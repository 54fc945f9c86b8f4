"""The products of all four stages as the folder that is shipped (rank 48; 32 in the first four layers)."""
import numpy as np, json, sys
from pathlib import Path
from training.adapted import checkpoint, narrowed, write_learned, Narrow
from training.weights import from_mpnet
from training.unpacking import unpacked
from conflictscore.labelers.nli.adapted import NLI_MPNET, LEARNED, summed, float_tensors
G,OUT,arch=map(Path,sys.argv[1:4])
before=from_mpnet(checkpoint(arch))
new=np.load(OUT/'mpnet_learned.npz'); old=np.load(G/'third_stage/learned.npz')
trained=dict(np.load(G/'mpnet/start.npz')); trained={k:v.astype(np.float32) for k,v in trained.items()}
for n in new.files:
    if '|' not in n and not n.startswith('other.'): trained[n]=new[n].astype(np.float32)
narrow={}
for name,b in before.items():
    if not (name.startswith('layer.') and b.ndim==2): continue
    place=name.removesuffix('.weight'); ch=new[f'{name}|B'].astype(np.float64)@new[f'{name}|A'].astype(np.float64)
    if f'{place}.up' in old:
        u,s,d=(old[f'{place}.{k}'].astype(np.float64) for k in ('up','scale','down')); ch=ch+(u*s)@d
    trained[name]=(b+ch).astype(np.float32)
    U,S,V=np.linalg.svd(ch,full_matrices=False)
    def cut(r):
        up,dn=U[:,:r],V[:r]; mu,md=np.abs(up).max(0),np.abs(dn).max(1)
        return Narrow(np.round(dn/md[:,None]*127).astype(np.int8),(S[:r]*mu*md/127**2).astype(np.float32),np.round(up/mu*127).astype(np.int8))
    narrow[place]=cut(48 if f'{place}.up' in old else 32)
    print(place,'left out %.3f'%(np.linalg.norm(ch-narrow[place].product())/np.linalg.norm(ch)),flush=True)
print(write_learned(trained,narrow,G/'adapted'))
