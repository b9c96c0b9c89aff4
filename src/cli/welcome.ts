import type { Config } from '../config.ts'

/** What somebody needs to know who starts the service without a password: where it is and how to log in. */
export function firstSteps({ username, password }: Config, url: string): string {
  const login = shellQuoted(JSON.stringify({ username, password }))
  return `
The book catalogue is at ${url}

  username  ${username}
  password  ${password}   (generated for this run; set PASSWORD to choose your own)

Log in with

  curl ${url}/token -d ${login}

and send the token of the answer in the Authorization header. Try every call at ${url}/docs

`
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
