import { findCommand } from './find-command.ts'

/** A program that some tests run. */
export interface Program {
  readonly file: string
  /** Why these tests are skipped, or false. Where DEPLOY is `required`, they fail without the program instead. */
  readonly missing: string | false
}

export function findProgram(name: string): Program {
  const file = findCommand([name], ['/usr/sbin', '/usr/local/sbin'])
  const isMissing = file === undefined && process.env.DEPLOY !== 'required'
  return { file: file ?? name, missing: isMissing && `no ${name}: install it` }
}
