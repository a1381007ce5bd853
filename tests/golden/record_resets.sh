#!/bin/sh
# strata record counts the resets of a machine, not QEMU's events of them: SeaBIOS resets the machine once more each time.
. "$(dirname "$0")/../lib/golden.sh"

if ! command -v qemu-system-x86_64 >/dev/null; then
    echo "record_resets: SKIPPED: qemu-system-x86_64 is not installed" >&2
    exit 77
fi
mkdir -m 700 run
export XDG_RUNTIME_DIR="$work/run"

pid=
ended() {
    [ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true
}
at_exit=ended

# A boot sector that counts in byte 0x60 of the CMOS, which a reset keeps, and resets its machine five times: by the instructions
# of $1, in hexadecimal. Then it writes "E" to the debug console, and halts.
boot_sector() {
    #    sti; mov ah,86; mov cx,7; mov dx,a120; int 15: waits half a second, as no system resets at once
    #    mov al,60; out 70,al; in al,71; cmp al,5; jae end
    code=fbb486b90700ba20a1cd15b060e670e4713c05730e
    #    inc al; mov ah,al; mov al,60; out 70,al; mov al,ah; out 71,al
    code=${code}fec088c4b060e67088e0e671
    reset=$1
    length=$((${#reset} / 2))
    # `jae` passes the 12 bytes of the counter and the reset.
    code=$(printf '%s' "$code" | sed "s/730e/73$(printf %02x $((12 + length)))/")
    #    end: mov al,'E'; out e9,al; cli; hlt; jmp to the hlt
    code=$code${reset}b045e6e9faf4ebfd
    {
        python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.argv[1]))' "$code"
        head -c $((510 - ${#code} / 2)) /dev/zero
        printf '\125\252'
    } >sector
}

# NAME of the case, instructions
resets() {
    case=$1
    boot_sector "$2"
    rm -f console
    "$strata" record -o "$1" -- qemu-system-x86_64 -machine pc -nodefaults -display none -m 16 \
        -drive file=sector,format=raw,if=ide -debugcon file:console -serial null >out 2>told &
    pid=$!
    wait_for 'grep -q E console 2>/dev/null'
    kill -TERM $pid
    wait $pid || fail "exit status $?: $(cat told)"
    pid=
    jq -e '[.sources[].problems[]?] | index("the virtual machine was reset 5 times")' "$1/trace.json" >/dev/null ||
        fail "$(jq -c '[.sources[].problems]' "$1/trace.json")"
}

# mov al,fe; out 64,al; hlt; jmp to the hlt
resets keyboard b0fee664f4ebfd
# mov dx,cf9; mov al,6; out dx,al; hlt; jmp to the hlt
resets cf9 baf90cb006eef4ebfd
# cli; lidt [600]; int3; hlt; jmp to the hlt
resets fault fa0f011e0006ccf4ebfd
