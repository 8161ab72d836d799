"""Ways out of a sandbox, to be tried from inside. Each succeeds only where it got out, and then does no harm.

Shell words know: $OUT, a folder outside with a file `secret`; $STATE, what ralph remembers; $OTHER, another work tree;
$SOCKET, a listening socket; $ABSTRACT, one without a file; $PORT, a port of this machine; $VICTIM, a process of it.
"""

from msgspec import Struct

# A call that is allowed and complains of its arguments got out, too; so none of them need do any harm.
_SYSTEM_CALL_SCRIPT = (
    "import ctypes,os,sys,socket,fcntl;c=ctypes.CDLL(None,use_errno=True);"
    "call=lambda *a:sys.exit(c.syscall(*a)<0 and ctypes.get_errno() in (1,3,13,38));"
)
SYSTEM_CALLS_MACHINE = "x86_64"  # whose numbers of system calls these are


class Escape(Struct, frozen=True, kw_only=True):
    """One way. It got out where the command exits with 0."""

    group: str
    name: str
    shell: str = ""
    python: str = ""


def _build_escapes(group: str, commands: dict[str, str]) -> tuple[Escape, ...]:
    return tuple(Escape(group=group, name=name, shell=command) for name, command in commands.items())


def _build_call_escapes(group: str, calls: dict[str, str]) -> tuple[Escape, ...]:
    return tuple(Escape(group=group, name=name, python=_SYSTEM_CALL_SCRIPT + code) for name, code in calls.items())


ESCAPES = (
    *_build_escapes(
        "write outside",
        {
            "create a file beside the work tree": "touch $OUT/made",
            "change a file beside the work tree": "echo x >> $OUT/secret",
            "write through a link": "ln -s $OUT way && touch way/made",
            "link a file from outside": "ln $OUT/secret linked && cat linked",
            "create a file in /etc": "touch /etc/made && rm /etc/made",
            "change /etc/passwd": ": >> /etc/passwd",
            "add a program": "touch /usr/bin/made && rm /usr/bin/made",
            "create a folder in /": "mkdir /made && rmdir /made",
            "write to /opt": "touch /opt/made && rm /opt/made",
            "set the kernel's crash handler": (
                "at=$PWD; cd /proc/sys/kernel; cp core_pattern $at/c && cat $at/c > core_pattern"
            ),
            "trigger a system request": "echo h > /proc/sysrq-trigger",
            "set the kernel's device handler": "cp /sys/kernel/uevent_helper u && cat u > /sys/kernel/uevent_helper",
            "make a control group": (
                "cd /sys/fs/cgroup || exit 1; "
                "for at in . cpu memory; do mkdir $at/made && rmdir $at/made && exit; done; exit 1"
            ),
            "write another task's work tree": "touch $OTHER/made",
        },
    ),
    *_build_escapes(
        "read secrets",
        {
            "SSH key": "cat ~/.ssh/id_ed25519",
            "AWS credentials": "cat ~/.aws/credentials",
            "password file of the network": "cat ~/.netrc",
            "shell history": "cat ~/.bash_history",
            "GitHub login": "cat ~/.config/gh/hosts.yml",
            "git credentials": "cat ~/.git-credentials",
            "container login": "cat ~/.docker/config.json",
            "cluster login": "cat ~/.kube/config",
            "keyring": "ls ~/.gnupg/private-keys-v1.d",
            "npm token": "cat ~/.npmrc",
            "a login of another agent": "cat ~/.codex/auth.json",
            "a file beside the work tree": "cat $OUT/secret",
            "the same through a link": "ln -s $OUT/secret look && cat look",
            "the same through a process": "cat /proc/$VICTIM/root$OUT/secret",
            "password hashes": "head -c 1 /etc/shadow | grep -q .",
            "what ralph remembers of runs": "cat $STATE/ralph.db",
            "what ralph keeps of trees": "ls ~/.local/state/ralph/trees",
            "another task's work tree": "ls $OTHER",
            "a disk": "head -c 1 /dev/vda || head -c 1 /dev/sda || head -c 1 /dev/nvme0n1",
            "a disk by a node of one's own": "mknod disk b 254 0 && head -c 1 disk",
            "memory of the machine": "head -c 1 /dev/mem || head -c 1 /proc/kcore",
            "variables of the harness": "tr '\\0' '\\n' < /proc/$VICTIM/environ | grep -q .",
        },
    ),
    *_build_escapes(
        "change the rules",
        {
            "edit settings": "echo '{}' > .ralph/settings.json",
            "add local settings": "echo '{}' > .ralph/settings.local.json",
            "rename the folder of settings": "mv .ralph away",
            "remove the folder of settings": "rm -rf .ralph && ! test -e .ralph",
            "add a git hook": "echo 'exit 0' > .git/hooks/pre-commit",
            "rename the folder of hooks": "mv .git/hooks away",
            "rename git's folder": "mv .git away",
            "configure git": "git config core.hooksPath .",
            "replace git's configuration": "cp .git/config new && mv new .git/config",
            "remove git's configuration": "rm -f .git/config && ! test -e .git/config",
            "edit Claude's settings of the project": "echo '{}' > .claude/settings.json",
            "rename the folder they are in": "mv .claude away",
            "change a protected file": "echo x >> checks/acceptance/test_it.py",
            "rename what it is in": "mv checks away",
            "add a plugin of Claude": "touch ~/.claude/plugins/made",
            "take a mount away": "umount .git/hooks",
            "make a mount writable": "mount -o remount,rw,bind .git/hooks",
            "mount something over it": "mount -t tmpfs none .ralph",
        },
    ),
    *_build_escapes(
        "touch processes",
        {
            "see a process of the machine": "kill -0 $VICTIM && grep -q victim-of-ralph /proc/$VICTIM/cmdline",
            "enter a namespace of the machine": "nsenter -t $VICTIM -m true",
            "become root by sudo": "sudo -n true",
            "change the root folder": "chroot / true",
        },
    ),
    *_build_escapes(
        "leave a trap",
        {
            "a program that runs as its owner": "cp /bin/true own && chmod 4755 own && test -u own",
            "the same by its installer": "install -m 4755 /bin/true own && test -u own",
            "a program with capabilities": "cp /bin/true own && setcap cap_net_raw+ep own",
            "a file of another user": "touch own && chown 12345 own",
            "a device": "mknod own c 1 5 && head -c 1 own",
            "attributes for git": "echo '* filter=x' > .git/info/attributes",
            "the same by a link": "ln .git/HEAD .git/info/attributes",
            "another folder in the place of git's": "mv .git/info .git/away",
            "a link in the place of git's folder": "mv .git away && ln -s away .git",
            "a work tree beside this one": "git worktree add -q ../made && test -e ../made",
            "a program on the user's PATH": "touch ~/.local/bin/git && cat $OUT/secret",
            "a library for every program": "echo x > /etc/ld.so.preload",
            "a job for later": "touch /var/spool/cron/made || touch /etc/cron.d/made",
        },
    ),
    *_build_call_escapes(
        "leave a trap",
        {
            "a file made as its owner's program": (
                "f=os.open('own',os.O_CREAT|os.O_WRONLY,0o4755);sys.exit(not os.fstat(f).st_mode&0o4000)"
            ),
            "one without a name, to be linked": (
                "f=os.open('.',os.O_TMPFILE|os.O_WRONLY,0o4755);sys.exit(not os.fstat(f).st_mode&0o4000)"
            ),
            "one made as a node": "os.mknod('node',0o104755);sys.exit(not os.stat('node').st_mode&0o4000)",
            "one by a call that hides its mode": (
                "call(437,-100,b'own',(65).to_bytes(8,'little')+(0o4755).to_bytes(16,'little'),24)"
            ),
        },
    ),
    *_build_escapes(
        "look around",
        {
            "files of the first process": "ls -l /proc/1/fd | grep -q 'secret\\|ralph.db'",
            "its root folder": "cat /proc/1/root$OUT/secret",
            "its variables": "tr '\\0' '\\n' < /proc/1/environ | grep -q of-the-harness",
            "the filter's file": "cat <&9",
            "a folder above": "cat ../outside/secret",
            "keys of the kernel": "grep -q . /proc/keys",
            "this machine's number": "grep -q . /etc/machine-id",
            "sandboxes of other runs": "ls ~/.local/state/ralph/sandboxes",
            "another sandbox in this one": "bwrap --dev-bind / / cat $OUT/secret",
            "a namespace where one is root": "unshare -rm true",
            "containers": "docker ps || podman --url unix:///run/podman/podman.sock ps",
            "services of the user": "systemd-run --user true || systemctl --user status",
            "terminals of others": "for at in /dev/pts/[0-9]*; do echo x > $at && exit; done; exit 1",
            "the kernel's switches": (
                "find /proc/sys -type f -writable | while read at; do (: >> $at) && echo $at; done | grep -q ."
            ),
            "devices of the machine": "head -c 0 /dev/fuse || head -c 0 /dev/kvm || head -c 0 /dev/net/tun",
        },
    ),
    *_build_call_escapes(
        "reach the kernel",
        {
            "enter a namespace": "call(308,os.open('/proc/1/ns/mnt',0),0)",
            "fork into a user namespace": "p=c.syscall(56,0x10000011,0,0,0,0);p or os._exit(0);sys.exit(p<0)",
            "the same by a newer call": "call(435,(0x10000000).to_bytes(8,'little')+b'\\0'*56,64)",
            "the same by other numbers of calls": "call(0x40000000+272,0x10000000)",
            "open a file system": "call(430,b'tmpfs',0)",
            "copy a mount": "call(428,-100,b'/',1)",
            "change a mount": "call(442,-100,b'/',0,b'\\0'*32,32)",
            "hold a process of the machine": "call(434,int(os.environ['VICTIM']),0)",
            "add a key": "call(248,b'user',b'a',b'b',1,-3)",
            "watch all files": "call(300,0,0)",
            "get capabilities": "call(157,47,2,21,0,0)",
            "be without its filter": "sys.exit('Seccomp:\\t2' in open('/proc/self/status').read())",
            "type by other bits of a call": "sys.exit(c.syscall(16,0,ctypes.c_ulong(0x100005412),b'x')!=0)",
            "open raw addresses": "socket.socket(2,3,1)",
            "run before others": "call(141,0,0,-10)",
            "make a user namespace": "call(272,0x10000000)",
            "make a mount namespace": "call(272,0x20000)",
            "mount": "call(165,b'none',b'.',b'tmpfs',0,0)",
            "load a program into it (bpf)": "call(321,0,b'\\0'*72,72)",
            "use its keyrings": "call(250,0,-3,0)",
            "use io_uring": "call(425,4,b'\\0'*120)",
            "watch its performance": "call(298,b'\\0'*112,0,-1,-1,0)",
            "handle page faults": "call(323,0)",
            "open files by number": "call(304,-100,b'\\0'*128,0)",
            "load a module": "call(175,b'',0,b'')",
            "set the clock": "call(227,0,b'\\xff'*16)",
            "name the machine": "call(170,socket.gethostname().encode(),len(socket.gethostname()))",
            "read its log": "call(103,3,b' '*64,64)",
            "open raw packets": "socket.socket(17,3,0)",
            "use its crypto sockets": "socket.socket(38,5,0)",
            "talk to its host (vsock)": "socket.socket(40,1,0)",
            "type into the terminal": "fcntl.ioctl(os.open('/dev/tty',os.O_RDWR),0x5412,b'x')",
            "trace a process of the machine": "call(101,16,int(os.environ['VICTIM']),0,0)",
        },
    ),
    *_build_call_escapes(
        "reach sockets",
        {
            "a socket of a service": "socket.socket(1).connect(os.environ['SOCKET'])",
            "Docker": "socket.socket(1).connect('/var/run/docker.sock')",
            "the ssh agent": "socket.socket(1).connect(os.environ['SSH_AUTH_SOCK'])",
            "tmux": "socket.socket(1).connect(os.environ['TMUX'].split(',')[0])",
            "the session bus": "socket.socket(1).connect('/run/user/%d/bus'%os.getuid())",
        },
    ),
)
CLOSED_NETWORK_ESCAPES = _build_call_escapes(
    "reach the network, where that is closed",
    {
        "a port of this machine": "socket.create_connection(('127.0.0.1',int(os.environ['PORT'])),2)",
        "a socket without a file": "socket.socket(1).connect(os.environ['ABSTRACT'].replace('@',chr(0)))",
        "an address": "socket.create_connection(('1.1.1.1',443),2)",
        "a name": "socket.getaddrinfo('example.com',443)",
        "a name server": "socket.socket(2,2).sendto(b'x',('8.8.8.8',53))",
    },
)
