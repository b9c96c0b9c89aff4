import { nodeFlags, VARIABLES } from '../../bin/start-options.js'

/** The environment in which Node.js runs, from whatever directory, as `npm start` has it. */
export function startedAsNpm(): Record<string, string> {
  return { ...VARIABLES, NODE_OPTIONS: nodeFlags().join(' ') }
}
