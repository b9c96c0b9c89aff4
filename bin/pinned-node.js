// As `node`, but on the Node.js that npm has installed: what the scripts of package.json run.
import { runNode } from './run-node.js'

runNode(process.argv.slice(2), { from: process.cwd() })
