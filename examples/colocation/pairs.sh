#!/bin/sh
# pairs.sh FOLDER [SECONDS]: ten batch programs, a profile of each, then all pairs: which pairs exceed noise, and what
# predicts them. Results are in FOLDER; run nothing else meanwhile.
set -eu
folder=${1:?pairs.sh FOLDER [SECONDS]} seconds=${2:-120} here=$(dirname "$0")
mkdir -p "$folder"
python=${PYTHON:-python3}
export OPENBLAS_NUM_THREADS=1
cards=
for job in scan matmul stream lzma zlib sha json sort gather pages; do
  command="$python -u $here/$job.py"
  [ -e "$here/$job.py" ] || command="$python -u $here/kinds.py $job"
  hindmost colocate profile "$command" --name "$job" --out "$folder/$job.json" > "$folder/$job.txt"
  cards="$cards $folder/$job.json"
done
# shellcheck disable=SC2086 # one word per profile
hindmost colocate pairs $cards --budget "${seconds}s" --out "$folder/pairs.json" --page "$folder/pairs.html"
