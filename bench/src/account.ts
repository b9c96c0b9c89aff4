/** What every contender is started with. */
export const ACCOUNT = { username: 'admin', password: 'the password of the bench' }
export const SECRET = 'the secret of the bench, of more than 32 bytes'

/** All contenders listen here, and the load comes from here. */
export const HOST = '127.0.0.1'
