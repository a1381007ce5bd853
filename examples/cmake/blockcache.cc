// SPDX-License-Identifier: MIT

// A write-back cache of disk blocks that evicts the one used longest ago, traced:
//
//     blockcache SIZE r1 w2 r1 …       reads and writes of blocks; prints hits and writes to disk

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <unordered_map>

#include "trace-cache.h"

class Cache
{
  public:
    explicit Cache(std::size_t size) : size(size)
    {
    }

    void access(std::uint64_t block, bool write)
    {
        auto found = index.find(block);

        if (found != index.end()) {
            trace_cache_hit(block, write);
            hits++;
            blocks.splice(blocks.begin(), blocks, found->second);
        } else {
            trace_cache_miss(block, write);
            misses++;
            if (blocks.size() == size)
                evict();
            blocks.push_front({block, false});
            index[block] = blocks.begin();
        }
        blocks.front().dirty |= write;
    }

    void flush()
    {
        std::size_t n = 0;

        for (auto &block : blocks) {
            n += block.dirty;
            block.dirty = false;
        }
        writes += n;
        trace_cache_flush(n);
    }

    unsigned hits = 0, misses = 0;
    std::size_t writes = 0;

  private:
    struct Block {
        std::uint64_t number;
        bool dirty;
    };

    void evict()
    {
        const Block &last = blocks.back();

        trace_cache_evict(last.number, last.dirty);
        writes += last.dirty;
        index.erase(last.number);
        blocks.pop_back();
    }

    std::size_t size;
    std::list<Block> blocks; // the one used last comes first
    std::unordered_map<std::uint64_t, std::list<Block>::iterator> index;
};

int main(int argc, char **argv)
{
    long size = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 0;

    if (size < 1) {
        std::fprintf(stderr, "Usage: blockcache SIZE rBLOCK|wBLOCK…\n");
        return 2;
    }
    Cache cache(static_cast<std::size_t>(size));
    for (int i = 2; i < argc; i++) {
        char *end = argv[i];
        bool known = *end == 'r' || *end == 'w';
        std::uint64_t block = known ? std::strtoull(argv[i] + 1, &end, 10) : 0;

        if (!known || end == argv[i] + 1 || *end) {
            std::fprintf(stderr, "blockcache: '%s' is neither rBLOCK nor wBLOCK\n", argv[i]);
            return 2;
        }
        cache.access(block, argv[i][0] == 'w');
    }
    cache.flush();
    std::printf("%u hits, %u misses, %zu blocks written\n", cache.hits, cache.misses, cache.writes);
    return 0;
}
