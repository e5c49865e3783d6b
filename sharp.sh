. ./env.sh
t() { echo "--- $1"; shift; /usr/bin/time -f "%es" timeout 60 "$@" 2>&1 | tail -${L:-3} | cut -c1-220; echo "rc ${PIPESTATUS[0]}"; }
S="$PY -m synthdp"
: > empty.csv; t init-empty $S init empty.csv
printf 'a,b\n' > header.csv; t init-header $S init header.csv
printf '\n\n' > blank.csv; t init-blank $S init blank.csv
rm -f pipe.csv; mkfifo pipe.csv; t init-fifo $S init pipe.csv
t run-fifo $S check s.yaml --set data.path=pipe.csv
rm -f pipe.yaml; mkfifo pipe.yaml; t config-fifo $S check pipe.yaml
t devzero $S init /dev/zero
t dirdata $S check s.yaml --set data.path=/tmp
for f in 'inc ~ I(9**9**9)' 'inc ~ I(9**9**9**9) + age' 'inc ~ age + I("a"*10**10)' 'inc ~ I([0]*10**10)' 'inc ~ (((((((((((age' 'inc ~ age**10000' 'inc ~ (age+sex+region)**50' 'inc ~ I(age**age**age**age)' 'inc ~ I(age.__class__)' 'inc ~ bs(age, df=10**9)' 'inc ~ poly(age, 10**9)' 'inc ~ np.zeros(10**12)' 'inc ~ I(1<<10**10)' 'inc ~ C(age, levels=range(10**12))'; do
 t "formula $f" $S analyse d1 --model ols --formula "$f"
done
