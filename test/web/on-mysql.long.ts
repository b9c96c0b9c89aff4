// What the page does that depends on how a server keeps books: its index of words follows the writes.
process.env.PAGE_ENGINE = 'mysql'
for (const file of ['page.test', 'import.test', 'import-undo.long']) await import(`./${file}.ts`)

export {}
