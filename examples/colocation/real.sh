#!/bin/sh
# real.sh FOLDER [SECONDS]: memcached beside xz, a scan of SQLite, a product of matrices and a memory streamer:
# cards, what they predict, what comes of it, and a page, all in FOLDER. Nothing else should be running.
set -eu
folder=${1:?real.sh FOLDER [SECONDS]} seconds=${2:-60} here=$(dirname "$0")
mkdir -p "$folder"
python=${PYTHON:-python3} port=${PORT:-21299}
card() { hindmost colocate profile "$@" > "$folder/card.txt" || { cat "$folder/card.txt"; exit 1; }; }

user=; [ "$(id -u)" != 0 ] || user='-u nobody'
card "memcached $user -t 1 -l 127.0.0.1 -p $port" --probe 2000 --probe-address "memcached://127.0.0.1:$port" \
  --budget "${seconds}s" --out "$folder/memcached.json"

# Numbers in words are neither empty nor random; what xz has written tells how far it is.
seq 400000 > "$folder/numbers"
card "sh -c 'while :; do xz -1 -T1 -k -c $folder/numbers; done > $folder/packed'" --counter "$folder/packed" \
  --window 200ms --budget 20s --name xz --out "$folder/xz.json"
export OPENBLAS_NUM_THREADS=1
for job in scan matmul stream; do
  card "$python -u $here/$job.py" --name "$job" --out "$folder/$job.json"
done

hindmost colocate corun "$folder/memcached.json" "$folder/xz.json" "$folder/scan.json" "$folder/matmul.json" \
  "$folder/stream.json" --within 20% --budget "${seconds}s" --out "$folder/corun.json" --page "$folder/corun.html"
