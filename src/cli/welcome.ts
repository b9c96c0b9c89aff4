import type { Config } from '../config.ts'

/** What a person needs who starts the service without a password of their own: where it is and how to log in. */
export function firstSteps({ username, password }: Config, url: string): string {
  const login = shellQuoted(JSON.stringify({ username, password }))
  return `
The book catalogue is at ${url}

  username  ${username}
  password  ${password}   (made for this run; set PASSWORD to choose one)

Log in with

  curl ${url}/token -d ${login}

and send the token that it answers in the Authorization header. Every call can be tried at ${url}/docs

`
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
