#!/usr/bin/env node
// Runs the command line on the Node.js that npm has installed, whichever Node.js this is.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runNode } from './run-node.js'
import { nodeFlags, VARIABLES } from './start-options.js'

const MAIN = join(dirname(fileURLToPath(import.meta.url)), '../src/main.ts')
const words = process.argv.slice(2)

runNode([...nodeFlags(words[0]), MAIN, ...words], { variables: VARIABLES })
