#!/bin/sh
# real.sh FOLDER [SECONDS [memcached|nginx|gzip]]: the server next to xz, a scan of SQLite, a matrix product and a
# memory
# streamer: profiles, predictions, results and a page, all in FOLDER. Run nothing else meanwhile.
set -eu
folder=${1:?real.sh FOLDER [SECONDS [memcached|nginx|gzip]]} seconds=${2:-60} server=${3:-memcached} here=$(dirname "$0")
mkdir -p "$folder/www"
folder=$(cd "$folder" && pwd)
probe=2000 rates='--rates 5k,8k'
python=${PYTHON:-python3} port=${PORT:-21299}
card() { hindmost colocate profile "$@" > "$folder/card.txt" || { cat "$folder/card.txt"; exit 1; }; }

case $server in
memcached)
  user=; [ "$(id -u)" != 0 ] || user='-u nobody'
  command="memcached $user -t 1 -l 127.0.0.1 -p $port" address=memcached://127.0.0.1:$port
  ;;
nginx | gzip)
  # gzip: a page compressed for each request, about 0.4 ms; nginx requests it from itself, because the probe does
  # not ask for gzip.
  head -c 1000 /dev/zero | tr '\0' x > "$folder/www/index.html"
  page="root $folder/www;" itself=
  if [ "$server" = gzip ]; then
    seq 3000 > "$folder/www/index.html"
    page="location / { proxy_pass http://unix:$folder/page; proxy_set_header Accept-Encoding gzip;
      proxy_http_version 1.1; proxy_set_header Connection ''; }"
    itself="server { listen unix:$folder/page; root $folder/www; gzip on; gzip_types *; gzip_comp_level 6; }"
    rm -f "$folder/page"
    probe=200 rates='--rates 500,1000'
  fi
  user=; [ "$(id -u)" != 0 ] || user="user $(id -un);" # so that it can read FOLDER
  cat > "$folder/nginx.conf" <<END
daemon off; worker_processes 1; pid $folder/nginx.pid; error_log stderr; $user
events { worker_connections 512; }
http {
  access_log off; keepalive_requests 1000000000;
  server { listen 127.0.0.1:$port; $page }
  $itself
}
END
  command="nginx -e stderr -p $folder -c $folder/nginx.conf" address=http://127.0.0.1:$port
  ;;
*) echo "real.sh: the server must be memcached, nginx or gzip, not $server" >&2; exit 2 ;;
esac
card "$command" --name "$server" --probe "$probe" --probe-address "$address" --budget "${seconds}s" --out "$folder/$server.json"

# Numbers as text are neither empty nor random; the size of xz's output shows its progress.
seq 400000 > "$folder/numbers"
card "sh -c 'while :; do xz -1 -T1 -k -c $folder/numbers; done > $folder/packed'" --counter "$folder/packed" \
  --window 200ms --budget 20s --name xz --out "$folder/xz.json"
export OPENBLAS_NUM_THREADS=1
for job in scan matmul stream; do
  card "$python -u $here/$job.py" --name "$job" --out "$folder/$job.json"
done

hindmost colocate predict --measure "$folder/$server.json" "$folder/xz.json" "$folder/scan.json" "$folder/matmul.json" \
  "$folder/stream.json" --within 20% --budget "${seconds}s" $rates --out "$folder/corun.json" --page "$folder/corun.html"
