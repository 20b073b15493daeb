#!/bin/sh
# Run tests on AArch64 under QEMU's user mode, on Debian. Once, as root: apt-get install qemu-user; dpkg --add-architecture arm64; apt-get update
#
#   sh tools/aarch64.sh FOLDER tests/llvm tests/kernels/rows -x     FOLDER keeps an AArch64 Python, its libraries and wheels
#
# Emulation is 20 to 50 times slower than a real processor. Tests that start processes find the emulator through the script "python" in FOLDER.
set -eu

[ $# -ge 2 ] || { sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
shift

if [ ! -e "$folder/ready" ]; then
    mkdir -p "$folder/debs" "$folder/root" "$folder/site"
    cd "$folder/debs"
    apt-get download -qq $(printf '%s:arm64 ' python3.11-minimal libpython3.11-minimal libpython3.11-stdlib libc6 libssl3 zlib1g libexpat1 \
        libffi8 libbz2-1.0 liblzma5 libstdc++6 libgcc-s1 libuuid1 libncursesw6 libtinfo6 libsqlite3-0 libreadline8 libcrypt1)
    for package in *.deb; do dpkg -x "$package" "$folder/root"; done
    python3 -m pip download --quiet --no-deps --dest "$folder/wheels" --only-binary=:all: --python-version 3.11 \
        --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 \
        numpy llvmlite ml_dtypes scipy threadpoolctl opt_einsum safetensors rich pygments markdown-it-py mdurl \
        pytest pluggy iniconfig packaging hypothesis sortedcontainers
    for wheel in "$folder"/wheels/*.whl; do python3 -m zipfile -e "$wheel" "$folder/site"; done
    cat > "$folder/python" <<END
#!/bin/sh
exec env PYTHONPATH="$root:$folder/site" OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 PELLUCID_CACHE_DIR="\${PELLUCID_CACHE_DIR:-$folder/cache}" \\
    qemu-aarch64 -L "$folder/root" "$folder/root/usr/bin/python3.11" "\$@"
END
    chmod +x "$folder/python"
    touch "$folder/ready"
fi

cd "$root"
exec "$folder/python" -c 'import sys; sys.executable = sys.argv.pop(1); import pytest; sys.exit(pytest.main(["-p", "no:cacheprovider", *sys.argv[1:]]))' \
    "$folder/python" "$@"
