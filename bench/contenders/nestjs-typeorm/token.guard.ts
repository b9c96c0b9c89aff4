import { type CanActivate, type ExecutionContext, Injectable, UnauthorizedException } from '@nestjs/common'
import { JwtService } from '@nestjs/jwt'
import type { Request } from 'express'
import { MESSAGES } from '../messages.js'

@Injectable()
export class TokenGuard implements CanActivate {
  constructor(private readonly jwt: JwtService) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const token = context.switchToHttp().getRequest<Request>().headers.authorization
    if (!token) throw new UnauthorizedException(MESSAGES.tokenRequired)
    try {
      await this.jwt.verifyAsync(token)
    } catch {
      throw new UnauthorizedException(MESSAGES.invalidToken)
    }
    return true
  }
}
