import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ROOT } from './npm.ts'
import { ACCOUNT, SECRET } from './service.ts'

/**
 * Runs the suite of the contract against a service that has the settings of the tests.
 * @param variables for Node.js beside those of this process.
 * @param options of the suite.
 * @throws Error with what it said, if a test fails.
 */
export async function runSpec(
  url: string,
  variables: Readonly<Record<string, string>> = {},
  options: readonly string[] = ['--contract-only'],
): Promise<void> {
  const { username, password } = ACCOUNT
  const account = ['--username', username, '--password', password, '--secret', SECRET]
  const args = ['test/spec/run.ts', '--url', url, ...account, ...options]
  await promisify(execFile)(process.execPath, args, { cwd: ROOT, env: { ...process.env, ...variables } })
}
