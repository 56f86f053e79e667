function _pbloom_completion;
    set -l response (env _PBLOOM_COMPLETE=fish_complete COMP_WORDS=(commandline -cp) COMP_CWORD=(commandline -t) pbloom);

    set -l name (string match -r -- '^--[^=]*=' (commandline -t));

    for completion in $response;
        set -l metadata (string split -m 1 "," $completion);

        if test $metadata[1] = "dir";
            __fish_complete_directories $metadata[2];
        else if test $metadata[1] = "file";
            __fish_complete_path $metadata[2] | string replace -r "^" -- "$name";
        else if test $metadata[1] = "plain";
            printf "%s\n" "$name$metadata[2]";
        end;
    end;
end;

complete --no-files --command pbloom --arguments "(_pbloom_completion)";
