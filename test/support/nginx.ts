import type { ServerDirectory } from './server-directory.ts'
import { ServerProcess } from './server-process.ts'

/**
 * Starts nginx.
 * @param file its executable.
 * @param directory is removed with it.
 * @param servers what its `http` block has.
 */
export function startNginx(
  file: string,
  directory: ServerDirectory,
  servers: string,
): Promise<ServerProcess> {
  const config = directory.write(
    'nginx.conf',
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
  return ServerProcess.started({
    file,
    args: ['-p', directory.path, '-c', config, '-e', 'stderr'],
    ready: /start worker processes/,
    directory,
    quit: 'SIGQUIT',
  })
}
