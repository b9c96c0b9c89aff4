#!/usr/bin/env node
// Runs the command line on the Node.js that npm has installed, whichever Node.js this is.
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fail, runNode } from './run-node.js'
import { nodeFlags, VARIABLES } from './start-options.js'

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '..')
// A package has the service as JavaScript: package/build.js.
const MAIN = join(ROOT, existsSync(join(ROOT, 'src')) ? 'src/main.ts' : 'dist/main.js')
const words = process.argv.slice(2)

if (existsSync(MAIN)) runNode([...nodeFlags(words[0]), MAIN, ...words], { variables: VARIABLES })
else
  fail('npm has made this package without the service: make it again, with npm pack --ignore-scripts=false')
