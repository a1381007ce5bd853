// SPDX-License-Identifier: MIT

// Caches what is drawn: for a track, a level (2^level ns per px) and a piece of time of TILE_PX px at that level. Only
// visible tiles are requested. Requests that are no longer needed are aborted.

import { ApiError, STATUS_TOO_LARGE, askExactly, isAbort, isGone } from "../api";
import type { CountsAnswer, SlicesAnswer, Track, ValuesAnswer } from "../api";

export const TILE_PX = 1024;
const LEVEL_MAX = 42; // the server accepts times below 2^53
const TRACKS_PER_REQUEST = 100; // fewer once an answer would have been too large
const REQUESTS_MAX = 4;
const NUMBERS_MAX = 6_000_000; // in the cache, 8 bytes each
const RETRY_MS = 5000;
const COARSER_TRIED = 14;

// The contents of a tile: slices by depth; or counts or values in one array.
export interface Tile {
    from: number;
    to: number;
    level: number;
    data: number[][];
    size: number;
    used: number;
    outdated: boolean; // of an older index: drawn until the newer one has arrived
}

// A piece of time that is drawn from a tile, which may have another level than requested.
export interface Piece {
    tile: Tile;
    from: number;
    to: number;
}

type Path = "slices" | "counts" | "values";

function pathOf(track: Track): Path | null {
    switch (track.kind) {
        case "group":
            return null;
        case "events":
            return "counts";
        case "counter":
            return "values";
        default:
            return "slices";
    }
}

interface Request {
    path: Path;
    level: number;
    index: number;
    tracks: Set<number>;
    abort: AbortController;
}

// The finest level at which a pixel is not shorter than NS_PER_PX.
export function levelOf(nsPerPx: number): number {
    return Math.min(LEVEL_MAX, Math.max(0, Math.floor(Math.log2(Math.max(1, nsPerPx)))));
}

const tileNs = (level: number) => TILE_PX * 2 ** level;
// Unique below 2^53, because a tile's number times its length is a time of the trace.
const tileKey = (level: number, index: number) => index * 64 + level;

export class Tiles {
    private readonly tracks = new Map<number, Map<number, Tile>>();
    private readonly requests: Request[] = [];
    private readonly failed = new Map<string, number>();
    private tracksPerRequest = TRACKS_PER_REQUEST;
    private size = 0;
    private clock = 0;
    version = 0; // changes with what there is

    constructor(
        private duration: number,
        private readonly onArrive: () => void,
        private readonly onError: (error: unknown) => void,
    ) {}

    get busy(): boolean {
        return this.requests.length > 0;
    }

    // Updates to a newer index, DURATION long. With KEEP, the old data are drawn until the new data have arrived.
    renew(duration: number, keep: boolean): void {
        for (const request of this.requests) request.abort.abort();
        this.duration = duration;
        this.failed.clear();
        this.version++;
        for (const tiles of this.tracks.values())
            for (const [key, tile] of tiles) {
                tile.outdated = true;
                if (keep && tile.used === this.clock) continue;
                tiles.delete(key);
                this.size -= tile.size;
            }
    }

    private find(track: number, level: number, index: number): Tile | undefined {
        const tile = this.tracks.get(track)?.get(tileKey(level, index));
        if (tile) tile.used = this.clock;
        return tile;
    }

    // Pieces that cover FROM to TO as far as anything is known, in order.
    pieces(track: Track, level: number, from: number, to: number): Piece[] {
        const pieces: Piece[] = [];
        const length = tileNs(level);
        const first = Math.max(0, Math.floor(from / length));
        const last = Math.floor(Math.min(to, this.duration) / length);
        for (let index = first; index <= last; index++)
            this.addPieces(pieces, track.id, level, index, index * length, (index + 1) * length);
        return pieces;
    }

    private addPieces(pieces: Piece[], track: number, level: number, index: number, from: number, to: number): void {
        const exact = this.find(track, level, index);
        if (exact) {
            pieces.push({ tile: exact, from, to });
            return;
        }
        // Zoomed in: what is there is coarser. Zoomed out: it is finer.
        for (let up = 1; up <= COARSER_TRIED && level + up <= LEVEL_MAX; up++) {
            const tile = this.find(track, level + up, Math.floor(index / 2 ** up));
            if (tile) {
                pieces.push({ tile, from, to });
                return;
            }
        }
        for (let half = 0; half < 2 && level > 0; half++) {
            const at = from + (half * (to - from)) / 2;
            const tile = this.find(track, level - 1, index * 2 + half);
            if (tile) pieces.push({ tile, from: at, to: at + (to - from) / 2 });
        }
    }

    // Requests what is missing of TRACKS between FROM and TO. True if everything is there.
    ensure(tracks: Track[], level: number, from: number, to: number): boolean {
        this.clock++;
        const length = tileNs(level);
        const first = Math.max(0, Math.floor(from / length));
        const last = Math.floor(Math.min(to, this.duration) / length);
        for (const request of this.requests)
            if (request.level !== level || request.index < first - 1 || request.index > last + 1) request.abort.abort();
        let complete = true;
        for (let index = first; index <= last; index++) complete = this.ensureTile(tracks, level, index) && complete;
        // What is beside the view, so that it is there when the view moves.
        if (complete && !this.busy) {
            if (first > 0) this.ensureTile(tracks, level, first - 1);
            if (last * length + length < this.duration) this.ensureTile(tracks, level, last + 1);
        }
        return complete;
    }

    private ensureTile(tracks: Track[], level: number, index: number): boolean {
        const missing: Record<Path, number[]> = { slices: [], counts: [], values: [] };
        let complete = true;
        for (const track of tracks) {
            const path = pathOf(track);
            const tile = path && this.find(track.id, level, index);
            if (!path || (tile && !tile.outdated)) continue;
            const failed = this.failed.get(`${track.id}/${level}/${index}`);
            if (failed !== undefined && performance.now() - failed < RETRY_MS) continue;
            complete = false;
            if (!this.requests.some((r) => !r.abort.signal.aborted && r.level === level && r.index === index && r.tracks.has(track.id)))
                missing[path].push(track.id);
        }
        for (const path of ["slices", "counts", "values"] as Path[])
            for (let i = 0; i < missing[path].length; i += this.tracksPerRequest) {
                if (this.requests.length >= REQUESTS_MAX) return false;
                void this.fetchTile(path, level, index, missing[path].slice(i, i + this.tracksPerRequest));
            }
        return complete;
    }

    private async fetchTile(path: Path, level: number, index: number, ids: number[]): Promise<void> {
        const request: Request = { path, level, index, tracks: new Set(ids), abort: new AbortController() };
        const from = index * tileNs(level);
        const to = from + tileNs(level);
        this.requests.push(request);
        try {
            const parameters = { from, to, pixels: TILE_PX, tracks: ids.join(",") };
            const answer = await askExactly<SlicesAnswer | CountsAnswer | ValuesAnswer>(path, parameters, request.abort.signal);
            const data = new Map<number, number[][]>();
            for (const track of answer.tracks)
                data.set(
                    track.id,
                    "depths" in track ? track.depths : ["counts" in track ? track.counts : track.values],
                );
            for (const id of ids) this.put(id, { from, to, level, data: data.get(id) ?? [], size: 0, used: 0, outdated: false }, index);
        } catch (error) {
            if (error instanceof ApiError && error.status === STATUS_TOO_LARGE && ids.length > 1) {
                this.tracksPerRequest = Math.max(1, Math.min(this.tracksPerRequest, ids.length >> 1));
            } else if (!isAbort(error)) {
                for (const id of ids) this.failed.set(`${id}/${level}/${index}`, performance.now());
                if (!isGone(error)) this.onError(error); // a newer index will come
            }
        }
        this.requests.splice(this.requests.indexOf(request), 1);
        this.onArrive();
    }

    private put(track: number, tile: Tile, index: number): void {
        let tiles = this.tracks.get(track);
        this.version++;
        if (!tiles) this.tracks.set(track, (tiles = new Map()));
        const key = tileKey(tile.level, index);
        this.size -= tiles.get(key)?.size ?? 0;
        tile.size = 16 + tile.data.reduce((sum, list) => sum + list.length, 0);
        tile.used = this.clock;
        tiles.set(key, tile);
        this.size += tile.size;
        if (this.size > NUMBERS_MAX) this.evict();
    }

    // Drops what was not drawn for the longest time, until three quarters of the limit are left.
    private evict(): void {
        const all: { tiles: Map<number, Tile>; key: number; tile: Tile }[] = [];
        for (const tiles of this.tracks.values()) for (const [key, tile] of tiles) all.push({ tiles, key, tile });
        all.sort((a, b) => a.tile.used - b.tile.used);
        for (const { tiles, key, tile } of all) {
            if (this.size <= NUMBERS_MAX * 0.75 || tile.used === this.clock) break;
            tiles.delete(key);
            this.size -= tile.size;
        }
    }
}
