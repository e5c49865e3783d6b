import numpy as np, pandas as pd, glob
from synthdp.release.fingerprints import fingerprint
from synthdp.release.recognising import recognise
key=bytes(range(32)); rng=np.random.default_rng(5)
def base(n, seed):
    r=np.random.default_rng(seed)
    age=r.integers(18,90,n)
    return pd.DataFrame(dict(age=age,sex=r.choice(["F","M"],n),region=r.choice(["n","e","w","s"],n),edu=r.integers(1,6,n),inc=np.exp(r.normal(7+.01*age,.6,n)).round(0),w=r.uniform(.5,2,n).round(3),kids=r.poisson(1.2,n)))
census=pd.read_csv("/work/shared/data/nist/national2019.csv",usecols=["SEX","AGEP","MSP","HISP","RAC1P","NOC","EDU","PINCP_DECILE","PUMA","INDP_CAT"],dtype=str)
def ways(d, r):
    yield "same", d
    yield "permuted", d.sample(frac=1,random_state=1)[list(r.permutation(d.columns))]
    for c in d.columns: yield f"drop {c}", d.drop(columns=c)
    yield "drop half", d[list(d.columns[::2])]
    num=d.select_dtypes("number").columns
    yield "round all 10", d.assign(**{c:(d[c]/10).round()*10 for c in num}) 
    yield "round all 5 perm", d.assign(**{c:(d[c]/5).round()*5 for c in num}).sample(frac=1,random_state=2)
    yield "topcode", d.assign(**{c:d[c].clip(upper=d[c].quantile(.9)) for c in num})
    yield "shift +1", d.assign(**{c:d[c]+1 for c in num})
    yield "x100", d.assign(**{c:d[c]*100 for c in num})
    cat=[c for c in d.columns if c not in num]
    yield "relabel cats", d.assign(**{c:d[c].map({v:f"L{i}" for i,v in enumerate(sorted(d[c].dropna().unique()))}) for c in cat})
    yield "relabel+perm rows", d.assign(**{c:d[c].map({v:f"L{i}" for i,v in enumerate(sorted(d[c].dropna().unique()))}) for c in cat}).sample(frac=1,random_state=3)
    yield "renamed", d.rename(columns={c:f"v{i}" for i,c in enumerate(d.columns)})
    yield "half rows", d.sample(frac=.5,random_state=4)
    yield "80% rows", d.sample(frac=.8,random_state=4)
    yield "noise 1 cell each", d.assign(**{d.columns[0]:d[d.columns[0]].sample(frac=1,random_state=5).values})
    x=d.copy(); x["_id"]=range(len(d)); yield "added counter", x
    yield "text", d.astype(str)
for nm,mk in (("sim300",lambda s:base(300,s)),("sim2000",lambda s:base(2000,s)),("sim60",lambda s:base(60,s)),("census3000",lambda s:census.sample(3000,random_state=s).reset_index(drop=True)),("census500",lambda s:census.sample(500,random_state=s).reset_index(drop=True))):
    d=mk(1); fd=fingerprint(d,key); bad=[]
    for name,x in ways(d,rng):
        m=recognise(fingerprint(x.reset_index(drop=True),key),fd)
        if m is None or not m.aligned or not m.certain: bad.append((name, None if m is None else (round(m.share,2),m.certain,m.aligned)))
    other=[recognise(fingerprint(mk(s),key),fd) for s in range(2,12)]
    print(nm,"not recognised/uncertain:",bad,"\n   other samples recognised:",sum(o is not None for o in other))
