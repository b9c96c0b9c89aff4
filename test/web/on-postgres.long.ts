/** Runs the tests of the page on PostgreSQL, which stands for both servers: the page gets the same answers from them. */
process.env.PAGE_ENGINE = 'postgres'
for (const file of ['page', 'states', 'import', 'import-undo', 'trouble']) await import(`./${file}.test.ts`)
