import { writeFileSync } from 'node:fs'
import type { ServerDirectory } from './server-directory.ts'
import { ServerProcess } from './server-process.ts'

/**
 * Starts nginx.
 * @param file its executable.
 * @param directory is removed with it.
 * @param servers what its `http` block has.
 */
export async function startNginx(
  file: string,
  directory: ServerDirectory,
  servers: string,
): Promise<ServerProcess> {
  writeFileSync(
    directory.join('nginx.conf'),
    `daemon off;
     pid nginx.pid;
     error_log stderr notice;
     events {}
     http {
       access_log off;
       client_body_temp_path body;
       proxy_temp_path proxy;
       fastcgi_temp_path fastcgi;
       uwsgi_temp_path uwsgi;
       scgi_temp_path scgi;
       ${servers}
     }`,
  )
  const nginx = new ServerProcess({
    file,
    args: ['-p', directory.path, '-c', directory.join('nginx.conf'), '-e', 'stderr'],
    ready: /start worker processes/,
    directory,
    quit: 'SIGQUIT',
  })
  await nginx.start()
  return nginx
}
