// SPDX-License-Identifier: MIT
// duckdb.cjs MODULES: runs the statements of standard input in DuckDB, of the npm package @duckdb/node-api in the directory
// MODULES. Prints the rows of the last one, each a line of JSON; integers of 64 bits and more are strings.
const path = require("path");
const { DuckDBInstance } = require(path.resolve(process.argv[2], "@duckdb/node-api"));

async function main() {
    const connection = await (await DuckDBInstance.create()).connect();
    const all = await connection.extractStatements(require("fs").readFileSync(0, "utf8"));
    for (let i = 0; i < all.count; i++) {
        const reader = await (await all.prepare(i)).runAndReadAll();
        if (i === all.count - 1)
            for (const row of reader.getRowsJson()) process.stdout.write(JSON.stringify(row) + "\n");
    }
}

main().catch((error) => {
    process.stderr.write(error.message + "\n");
    process.exitCode = 1;
});
